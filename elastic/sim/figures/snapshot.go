package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// noon is when made-up snapshots are taken.
var noon = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// snapshot draws a busy site: running jobs have about nine tenths of the GPUs, in random
// sizes, and the rest has just become free.
func (z size) snapshot(seed uint64) elastic.Snapshot {
	rng := rand.New(rand.NewPCG(seed, uint64(z.jobs)))
	s := elastic.Snapshot{Now: noon, Limits: slurms.limits, Nodes: z.inventory()}
	for i := range s.Nodes {
		s.Nodes[i].Partitions, s.Nodes[i].CPUs = []string{"gpu"}, 16*z.gpus
	}
	share := max(1, z.nodes*z.gpus*9/10/(z.jobs-z.waiting))
	node := 0 // the first that may have free GPUs
	for i := range z.jobs {
		j := elastic.Job{
			ID: elastic.JobID(i + 1), Partition: "gpu", Speaks: true, Phase: elastic.Waiting, Submitted: noon.Add(-time.Hour),
			Spec:  elastic.Spec{Min: 1, Total: 1000, Max: []int{0, 16, 64, 256}[rng.IntN(4)]},
			Done:  1000 * rng.Float64(),
			Price: elastic.Price{Start: time.Duration(5+rng.IntN(60)) * time.Second, Measured: 1},
			Curve: speed.Known(scaling(rng).Seconds),
		}
		if i < z.jobs-z.waiting {
			n := max(1, share*[]int{1, 1, 2, 4}[rng.IntN(4)]/2)
			if j.Spec.Max > 0 {
				n = min(n, j.Spec.Max)
			}
			j.Place = put(s.Nodes, &node, n)
		}
		if len(j.Place) > 0 {
			j.Phase, j.Started = elastic.Running, noon.Add(-30*time.Minute)
		}
		s.Jobs = append(s.Jobs, j)
	}
	if z.typed {
		onTwo(&s, rng)
	}
	return s
}

// onTwo makes the first half of the nodes of the faster type, on which each job is up to
// four times as fast.
func onTwo(s *elastic.Snapshot, rng *rand.Rand) {
	for i := range s.Nodes {
		if s.Nodes[i].Type = measuredType; i < len(s.Nodes)/2 {
			s.Nodes[i].Type = fasterType
		}
	}
	for i := range s.Jobs {
		slow, by := s.Jobs[i].Curve, 1+3*rng.Float64()
		fast := speed.Known(func(split []int) float64 {
			seconds, _ := slow.Split(split)
			return seconds / by
		})
		s.Jobs[i].Curve = speed.Kinds([]string{fasterType, measuredType}, map[string]*speed.Curve{fasterType: fast, measuredType: slow})
	}
}

// scaling draws how a job scales: by Amdahl's law, or by a power of the GPUs; each
// loses something with every GPU and node.
func scaling(rng *rand.Rand) workload.Parametric {
	p := workload.Parametric{
		One: math.Exp(rng.Float64() * math.Log(300)), PerGPU: .0005 * rng.Float64(), PerNode: .01 * rng.Float64(),
	}
	if rng.IntN(2) == 0 {
		p.Power = .4 + .55*rng.Float64()
	} else {
		p.Serial = .15 * rng.Float64()
	}
	return p
}

// put takes n GPUs of the first node from *from on that has them, or of whole
// nodes; fewer where the cluster ends, nil where there are none.
func put(all []nodes.Node, from *int, n int) nodes.Placement {
	per := all[0].GPUs
	if n > per {
		n -= n % per
	}
	var p nodes.Placement
	var taken []*nodes.Node
	for n > 0 && *from < len(all) {
		here, take := &all[*from], min(n, per)
		if here.Free() < take {
			*from++
			continue
		}
		p, taken = append(p, nodes.Share{Node: here.Name, GPUs: take}), append(taken, here)
		here.Used += take
		n -= take
	}
	if len(p) > 1 {
		for _, t := range taken {
			t.Spanning++
		}
	}
	return p
}

// decisions runs a trial for the time of its decisions, with placing.
func (b *bench) decisions(t trial) ([]time.Duration, error) {
	r, err := b.replay(t, b.Clock)
	if err != nil {
		return nil, fmt.Errorf("timing %w", err)
	}
	return r.Decisions, nil
}
