package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// site is a cluster of equal nodes, with jobs of which some wait.
type site struct {
	name           string
	nodes, perNode int
	jobs, waiting  int
	fitted         bool // speeds from samples, else known
	any            bool // any split, as published simulators give
}

// BenchmarkLookahead prints, beside the time, the CPU time of a decision and how far,
// in percent, its value is below what no plan can exceed.
func BenchmarkLookahead(b *testing.B) {
	for _, c := range []site{
		{"64GPUs/40jobs/any", 16, 4, 40, 2, false, true},
		{"64GPUs/160jobs/any", 16, 4, 160, 100, false, true},
		{"64GPUs/40jobs", 16, 4, 40, 2, false, false},
		{"64GPUs/160jobs", 16, 4, 160, 100, true, false},
		{"512GPUs/160jobs/known", 64, 8, 160, 10, false, false},
		{"512GPUs/160jobs/fitted", 64, 8, 160, 10, true, false},
		{"2048GPUs/640jobs/known", 256, 8, 640, 40, false, false},
		{"2048GPUs/640jobs/fitted", 256, 8, 640, 40, true, false},
		{"10000GPUs/1000jobs/known", 1250, 8, 1000, 60, false, false},
		{"10000GPUs/1000jobs/fitted", 1250, 8, 1000, 60, true, false},
		{"100000GPUs/10000jobs/known", 12500, 8, 10_000, 300, false, false},
		{"100000GPUs/10000jobs/fitted", 12500, 8, 10_000, 300, true, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := c.snapshot()
			lookahead, _ := policy.ByName("lookahead")
			before := cpu()
			lookahead.Allocate(s) // later ones are cheaper: curves remember what they were asked
			first := cpu() - before
			value, bound := policy.Foresee(s)
			b.ReportAllocs()
			before = cpu()
			for b.Loop() {
				lookahead.Allocate(s)
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(first.Microseconds())/1000, "first-cpu-ms")
			b.ReportMetric(100*(bound-value)/bound, "gap-%")
		})
	}
}

// cpu is the time this process has computed for: machines are shared.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}

// snapshot draws the site in the middle of its work: those who run share the GPUs as
// somebody divided them before, and a tenth of the GPUs has just come free.
func (c site) snapshot() elastic.Snapshot {
	rng := rand.New(rand.NewPCG(7, uint64(c.jobs)))
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{Cooldown: time.Minute, Payback: 2, DeafAfter: 3, AnySplit: c.any, ShareNodes: c.any}}
	for i := range c.nodes {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%05d", i), Partitions: []string{"gpu"}, GPUs: c.perNode, Usable: true, CPUs: 16 * c.perNode})
	}
	share := max(1, c.nodes*c.perNode*9/10/max(1, c.jobs-c.waiting))
	for i := range c.jobs {
		j := elastic.Job{
			ID: elastic.JobID(i + 1), Partition: "gpu", Speaks: true, Phase: elastic.Held,
			Spec:  elastic.Spec{Min: 1, Total: 1000, Max: []int{0, 16, 64, 256}[rng.IntN(4)]},
			Done:  1000 * rng.Float64(),
			Price: elastic.Price{Start: time.Duration(5+rng.IntN(60)) * time.Second},
			Curve: c.curve(rng),
		}
		if i < c.jobs-c.waiting {
			j.Place = put(s.Nodes, max(1, min(share*[]int{1, 1, 2, 4}[rng.IntN(4)]/2, most(j.Spec))))
		}
		if len(j.Place) > 0 {
			j.Phase, j.Started = elastic.Running, now.Add(-time.Hour)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func most(s elastic.Spec) int {
	if s.Max == 0 {
		return math.MaxInt
	}
	return s.Max
}

// put takes n GPUs of the first node that has them, or of whole nodes.
func put(all []nodes.Node, n int) (p nodes.Placement) {
	per := all[0].GPUs
	if n > per {
		n -= n % per
	}
	for i := range all {
		if all[i].Free() < min(n, per) {
			continue
		}
		p = append(p, nodes.Share{Node: all[i].Name, GPUs: min(n, per)})
		if n -= min(n, per); n > 0 {
			continue
		}
		for _, s := range p {
			k := slices.IndexFunc(all, func(n nodes.Node) bool { return n.Name == s.Node })
			all[k].Used += s.GPUs
			if len(p) > 1 {
				all[k].Spanning++
			}
		}
		return p
	}
	return nil
}

// curve draws a way to scale: a power of the GPUs, a serial part, or a best size
// beyond which it slows down; each loses something with every node.
func (c site) curve(rng *rand.Rand) *speed.Curve {
	one, x, hop := math.Exp(rng.Float64()*math.Log(300)), rng.Float64(), 0.02+0.3*rng.Float64()
	up := [](func(n float64) float64){
		func(n float64) float64 { return math.Pow(n, 0.3+0.65*x) },
		func(n float64) float64 { return 1 / (0.2*x*x + (1-0.2*x*x)/n) },
		func(n float64) float64 { return n / (1 + n*n/(64+1000*x)) },
	}[rng.IntN(3)]
	seconds := func(split []int) float64 {
		n := 0
		for _, g := range split {
			n += g
		}
		return one * (1 + hop*math.Log2(float64(len(split)))) / up(float64(n))
	}
	if !c.fitted {
		return speed.Known(seconds)
	}
	var samples []speed.Sample
	for _, shape := range []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}, {GPUs: 4, Nodes: 1}, {GPUs: c.perNode * 2, Nodes: 2}} {
		if rng.IntN(4) > 0 {
			samples = append(samples, speed.Sample{Shape: shape, Seconds: seconds(shape.Even()) * (0.97 + 0.06*rng.Float64()), Units: 1, At: now})
		}
	}
	return speed.Fit(samples, now)
}
