package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// The jobs of powerlaw and bursty. Run times at the size asked for follow a power
// law with density t^-1.5 between two minutes and four days: half of them are
// over in eight minutes, the mean is 1.8 hours, and the few long ones are most of
// the work, as in published traces of GPU clusters (Philly: Jeon et al., ATC'19).
const (
	shortest = 120.0 // seconds
	longest  = 4 * 86400.0
	exponent = 1.5
)

// demand is how often users ask for a size.
type demand struct {
	gpus  int
	share float64 // of the jobs; they sum to 1
}

// demands: most jobs ask for one GPU, most GPU time belongs to those that ask for
// several. Sizes above a quarter of the cluster are not asked for; their share
// goes to the largest that is.
var demands = []demand{{1, .68}, {2, .09}, {4, .11}, {8, .08}, {16, .025}, {32, .01}, {64, .005}}

// family is a kind of training: one speed curve, shared by its jobs.
type family struct {
	name  string
	share float64 // of the jobs; they sum to 1
	speed Parametric
}

// families: chosen, not measured. One is a minute in all of them, so that a job's
// total is its minutes on one GPU.
var families = []family{
	{"conv-deep", .30, Parametric{One: 60, Serial: .020, PerGPU: .0002, PerNode: .004}},
	{"conv-small", .20, Parametric{One: 60, Serial: .060, PerGPU: .0010, PerNode: .008}},
	{"transformer", .25, Parametric{One: 60, Serial: .010, PerGPU: .0001, PerNode: .003}},
	{"speech", .10, Parametric{One: 60, Serial: .035, PerGPU: .0004, PerNode: .006}},
	{"recommender", .10, Parametric{One: 60, Serial: .120, PerGPU: .0040, PerNode: .030}},
	{"reinforcement", .05, Parametric{One: 60, Power: .6}},
}

// kind is a family at a size: what its jobs have in common, made once.
type kind struct {
	spec   elastic.Spec
	asked  int
	speeds Speeds
	units  float64 // of work a second, at the size asked for
}

// large makes powerlaw and bursty, which differ in how jobs come.
func large(come func(rng *rand.Rand, mean float64) func() float64) func(request) (Workload, error) {
	return func(r request) (Workload, error) {
		count, err := r.jobs(1000)
		if err != nil {
			return Workload{}, err
		}
		gpus, perNode, load := or(r.GPUs, 10_000), or(r.PerNode, 8), or(r.Load, .8)
		kinds := newKinds(gpus, perNode)
		mean := kinds.meanGPUs * powerLawMean(shortest, longest) / (load * float64(gpus))
		w := Workload{Name: r.name, Seed: r.seed, Count: count}
		w.Note = fmt.Sprintf("run times t^-%.1f from %.0f s to %.0f days, sizes 1 to %d", exponent, shortest, longest/86400, kinds.largest)
		if r.Arrival > 0 {
			mean = r.Arrival.Seconds()
			w.Note += fmt.Sprintf("; a job every %s in the mean", r.Arrival)
		} else {
			w.Note += fmt.Sprintf("; offered load %g of %d GPUs in the mean, once the longest jobs have had time to pile up", load, gpus)
		}
		if mean > maxArrival.Seconds() {
			return Workload{}, fmt.Errorf("a load of %g on %d GPUs is a job every %.0f s; want a load that brings one every %v or more", load, gpus, mean, maxArrival)
		}
		w.Jobs = func(yield func(Job) bool) {
			rng, next := stream(r.seed, sizesStream), come(stream(r.seed, arrivalsStream), mean)
			at := time.Duration(0)
			for i := range count {
				job := kinds.draw(rng)
				at = after(at, next())
				job.Name, job.Submit = "j"+strconv.Itoa(i+1), at
				if !yield(job) {
					return
				}
			}
		}
		return w, nil
	}
}

// kinds is every family at every size, and the table that draws among them.
type kinds struct {
	all      [][]kind // by family, then by demand
	families []float64
	sizes    []float64
	meanGPUs float64
	largest  int
}

func newKinds(gpus, perNode int) *kinds {
	k := &kinds{sizes: shares(gpus)}
	last := 0.0
	for i, s := range k.sizes {
		k.meanGPUs += (s - last) * float64(demands[i].gpus)
		k.largest, last = demands[i].gpus, s
	}
	sum := 0.0
	for _, f := range families {
		sum += f.share
		k.families = append(k.families, sum)
		var row []kind
		for i := range k.sizes {
			row = append(row, newKind(f, demands[i].gpus, gpus, perNode))
		}
		k.all = append(k.all, row)
	}
	return k
}

// shares returns the running sum of the shares of the sizes that are asked for in
// a cluster of so many GPUs.
func shares(gpus int) []float64 {
	var out []float64
	sum := 0.0
	for _, d := range demands {
		if d.gpus > max(1, gpus/4) {
			break
		}
		sum += d.share
		out = append(out, sum)
	}
	out[len(out)-1] = 1
	return out
}

// newKind is a family at a size: elastic in powers of two from a quarter of what
// is asked for to four times that.
func newKind(f family, asked, gpus, perNode int) kind {
	k := kind{asked: asked, speeds: f.speed}
	k.spec = elastic.Spec{Min: max(1, asked/4), Unit: elastic.Steps, Model: f.name, AllowUneven: true}
	for n := k.spec.Min; n <= 4*asked && n <= gpus; n *= 2 {
		k.spec.Sizes = append(k.spec.Sizes, n)
		k.spec.Max = n
	}
	k.units = 1 / f.speed.on(asked, (asked+perNode-1)/perNode)
	return k
}

// draw returns the next job, without name and submit.
func (k *kinds) draw(rng *rand.Rand) Job {
	row := k.all[pick(k.families, rng.Float64())]
	kind := &row[pick(k.sizes, rng.Float64())]
	job := Job{User: users[rng.IntN(len(users))], Spec: kind.spec, Asked: kind.asked, Speeds: kind.speeds}
	job.Spec.Total = powerLaw(rng.Float64(), shortest, longest) * kind.units
	return job
}

// pick returns the first index whose running sum is above x.
func pick(sums []float64, x float64) int {
	for i, s := range sums {
		if x < s {
			return i
		}
	}
	return len(sums) - 1
}

// powerLaw turns u, even in 0..1, into a value of density t^-1.5 between the
// bounds, by the inverse of its distribution.
func powerLaw(u, least, most float64) float64 {
	a, b := 1/math.Sqrt(least), 1/math.Sqrt(most)
	x := a + u*(b-a)
	return 1 / (x * x)
}

// powerLawMean is the mean of powerLaw: for this exponent, the bounds' geometric
// mean.
func powerLawMean(least, most float64) float64 { return math.Sqrt(least * most) }
