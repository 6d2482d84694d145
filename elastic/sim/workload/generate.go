package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Options are the parameters of generators that scale with a cluster. The zero
// value of each field asks for the generator's own default.
type Options struct {
	GPUs    int           // of the cluster, over which Load is counted; 0 = 10,000
	PerNode int           // GPUs a node, for the true run time of large jobs; 0 = 8
	Load    float64       // GPU time asked for over GPU time there is; 0 = 0.8
	Jobs    int           // how many; a number in the name goes before it; 0 = the generator's own
	Arrival time.Duration // mean time between two jobs; 0 = what Load gives, or the generator's own
}

// MaxJobs is the most jobs a workload may have.
const MaxJobs = 10_000_000

// Generator makes workloads of one kind.
type Generator struct {
	Name string
	// Argument is what may follow "@" in the name, for people; "" = nothing.
	Argument string
	Doc      string // one sentence for people who choose
	make     func(request) (Workload, error)
}

// request is one call of Generate, checked and with the defaults filled in where
// they are the same for all generators.
type request struct {
	name string // as it was asked for
	arg  string // what stood behind "@"
	seed uint64
	Options
}

// generators is the one table of what can be generated.
var generators = []Generator{
	{"w1", "MEAN", "system A's experiment: 20 image models on 3x4 GPUs, many of them micro jobs (40% micro, 30% small, 20% medium, 10% large)", systemA(0)},
	{"w2", "MEAN", "the same, mostly small jobs (60% small, 30% medium, 10% large)", systemA(1)},
	{"w3", "MEAN", "the same, balanced (35% small, 35% medium, 30% large)", systemA(2)},
	{"w4", "MEAN", "the same, mostly large jobs (10% small, 30% medium, 60% large)", systemA(3)},
	{"powerlaw", "JOBS", "many jobs with power-law run times that come one by one (Poisson)", large(steady)},
	{"bursty", "JOBS", "the same jobs, coming in bursts and by day more than by night", large(bursty)},
	{"power", "P", "known sizes, all there at the start, on n GPUs n^P times as fast: where the best shares have a closed form (heSRPT)", powerJobs},
}

// Generators lists what Generate makes, in the order to show it.
func Generators() []Generator { return append([]Generator(nil), generators...) }

// Generate makes the workload of that name: one of Generators, and "@" with its
// argument where it takes one, such as "w1", "w1@10m" (mean time between jobs) or
// "powerlaw@1000000" (jobs); ":" does as well as "@". The same name, seed and
// options give the same jobs, on every machine of the same architecture. Jobs are
// made while they are walked: a million of them take no memory.
func Generate(name string, seed uint64, opts Options) (Workload, error) {
	kind, arg := name, ""
	if at := strings.IndexAny(name, "@:"); at >= 0 {
		kind, arg = name[:at], name[at+1:]
		if arg == "" {
			return Workload{}, fmt.Errorf("workload %q: nothing follows %q", name, name[at:])
		}
	}
	if err := opts.check(); err != nil {
		return Workload{}, fmt.Errorf("workload %q: %w", name, err)
	}
	names := make([]string, len(generators))
	for i, g := range generators {
		if g.Name == kind {
			w, err := g.make(request{name: name, arg: arg, seed: seed, Options: opts})
			if err != nil {
				return Workload{}, fmt.Errorf("workload %q: %w", name, err)
			}
			return w, nil
		}
		names[i] = g.Name
	}
	return Workload{}, fmt.Errorf("workload %q: no such generator; there are %s", name, strings.Join(names, ", "))
}

func (o Options) check() error {
	switch {
	case o.GPUs < 0 || o.GPUs > 10_000_000:
		return fmt.Errorf("%d GPUs: want 1 to 10000000", o.GPUs)
	case o.PerNode < 0 || o.PerNode > 10_000:
		return fmt.Errorf("%d GPUs a node: want 1 to 10000", o.PerNode)
	case o.Load < 0 || o.Load > 1000 || math.IsNaN(o.Load):
		return fmt.Errorf("load %v: want above 0 and at most 1000", o.Load)
	case o.Jobs < 0 || o.Jobs > MaxJobs:
		return fmt.Errorf("%d jobs: want 1 to %d", o.Jobs, MaxJobs)
	case o.Arrival < 0 || o.Arrival > maxArrival:
		return fmt.Errorf("mean time between jobs %v: want above 0 and at most %v", o.Arrival, maxArrival)
	}
	return nil
}

// maxArrival bounds the mean time between two jobs.
const maxArrival = 24 * time.Hour

// jobs returns how many jobs are asked for: the argument, the option or usual.
func (r request) jobs(usual int) (int, error) {
	if r.arg == "" {
		return or(r.Jobs, usual), nil
	}
	n, err := strconv.Atoi(r.arg)
	if err != nil || n < 1 || n > MaxJobs {
		return 0, fmt.Errorf("%q jobs: want a number from 1 to %d", r.arg, MaxJobs)
	}
	return n, nil
}

// arrival returns the mean time between two jobs: the argument, the option or usual.
func (r request) arrival(usual time.Duration) (time.Duration, error) {
	if r.arg == "" {
		return or(r.Arrival, usual), nil
	}
	d, err := time.ParseDuration(r.arg)
	if err != nil || d <= 0 || d > maxArrival {
		return 0, fmt.Errorf("mean time between jobs %q: want such as 15m, at most %v", r.arg, maxArrival)
	}
	return d, nil
}

func or[T int | float64 | time.Duration](given, usual T) T {
	if given == 0 {
		return usual
	}
	return given
}

// The streams of one seed, so that what is drawn of one thing does not shift
// another: the same jobs come at every rate.
const (
	sizesStream uint64 = iota + 1
	arrivalsStream
	accountsStream
	sweepsStream
)

func stream(seed, which uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, which)) }

// after is the time d, in seconds and not negative, after t, to the millisecond
// and at most what a duration holds.
func after(t time.Duration, d float64) time.Duration {
	const most = float64(math.MaxInt64 / 4)
	step := math.Min(d*float64(time.Second), most)
	return min(t+time.Duration(step).Round(time.Millisecond), math.MaxInt64/2)
}
