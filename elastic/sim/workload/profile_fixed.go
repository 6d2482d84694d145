package workload

import (
	"fmt"
	"math"
	"slices"
)

// Fixed is the speed of a profiled application at a fixed global batch. It does
// not change, may be used from several goroutines, and one pointer identifies one
// speed. A unit of work is an epoch, all of equal length.
type Fixed struct {
	Profile *Profile
	Batch   int
	// exact answers for measured splits, every rotation of them, others by
	// nodes, then GPUs.
	exact  map[place]float64
	shapes [][]float64
	most   int // GPUs on one node
	long   int // nodes of the longest split measured
}

// Fixed returns the speeds at a global batch; an error when it lies outside the
// batches measured.
func (p *Profile) Fixed(batch int) (*Fixed, error) {
	if batch < p.InitBatch || batch > p.MaxBatch {
		return nil, fmt.Errorf("%s: global batch %d was not measured; want %d to %d", p.Name, batch, p.InitBatch, p.MaxBatch)
	}
	f := &Fixed{Profile: p, Batch: batch, exact: map[place]float64{}}
	for _, key := range p.splits() {
		split := key.split()
		f.most, f.long = max(f.most, slices.Max(split)), max(f.long, len(split))
		seconds := p.epoch(batch, total(split), p.placements[key].read)
		for i := range split {
			rotation, _ := exactly(slices.Concat(split[i:], split[:i]))
			f.exact[rotation] = seconds
		}
	}
	nodes, gpus := p.grid.widest()
	f.shapes = make([][]float64, nodes+1)
	for n := range f.shapes {
		f.shapes[n] = make([]float64, gpus+1)
		for g := range f.shapes[n] {
			f.shapes[n][g] = math.Inf(1)
			if g < n || g > n*f.most {
				continue
			}
			f.shapes[n][g] = p.epoch(batch, g, func(local int) (times, bool) { return p.grid.read(n, g, local) })
		}
	}
	return f, nil
}

// Seconds returns the time of an epoch on the split. A split that was measured,
// in this order or as a ring that begins elsewhere, has its own time; others go
// by nodes and GPUs, nodes beyond the most measured counting as those. It is +Inf
// outside the measurements, and where a node holds more GPUs than any measured.
func (f *Fixed) Seconds(split []int) float64 {
	if len(split) <= f.long {
		key, _ := exactly(split)
		if seconds, ok := f.exact[key]; ok {
			return seconds
		}
	}
	gpus := 0
	for _, g := range split {
		if g < 1 || g > f.most {
			return math.Inf(1)
		}
		gpus += g
	}
	row := f.shapes[min(len(split), len(f.shapes)-1)]
	if gpus >= len(row) {
		return math.Inf(1)
	}
	return row[gpus]
}

// MaxGPUs is the most GPUs that each still get the smallest batch measured.
func (f *Fixed) MaxGPUs() int { return max(1, f.Batch/f.Profile.MinLocal) }

// Pass returns how a global batch is divided (simulator.py, update_local_bsz): the
// batch of one GPU in one pass, and the passes beyond the last whose gradients are
// only added up. One GPU takes at least two passes of a batch above the smallest,
// as it has no other to compare gradients with.
func (p *Profile) Pass(batch, gpus int) (local, added int) {
	share := ceil(batch, gpus)
	added = ceil(share, p.MaxLocal) - 1
	if gpus == 1 && batch > p.InitBatch {
		added = max(1, added)
	}
	return min(ceil(share, added+1), p.MaxBatch/(gpus*(added+1))), added
}

func ceil(a, b int) int { return (a + b - 1) / b }

// epoch returns the mean time of an epoch; measured answers for a batch of one
// GPU.
func (p *Profile) epoch(batch, gpus int, measured func(local int) (times, bool)) float64 {
	if gpus < 1 {
		return math.Inf(1)
	}
	local, added := p.Pass(batch, gpus)
	t, ok := measured(local)
	if !ok {
		return math.Inf(1)
	}
	iteration := t.step + float64(added)*(t.step-t.sync)
	// Rounding up may make the batch trained a little larger than the one asked for.
	return iteration * p.progress.iterations(gpus*local*(added+1), p.Epochs) / float64(p.Epochs)
}
