// Package policytest draws clusters for tests and benchmarks of policies.
package policytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// Now is the time of every Snapshot.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Site describes a cluster of equal nodes with jobs, of which some wait.
type Site struct {
	Name           string
	Nodes, PerNode int
	Jobs, Waiting  int
	Fitted         bool // speeds from samples, else known
	Any            bool // any split, as in published simulators
}

// Snapshot draws the site in operation: running jobs share the GPUs as divided before, and a
// tenth of the GPUs has just become free.
func (c Site) Snapshot() elastic.Snapshot {
	rng := rand.New(rand.NewPCG(7, uint64(c.Jobs)))
	s := elastic.Snapshot{Now: Now, Limits: elastic.Limits{Cooldown: time.Minute, Payback: 2, DeafAfter: 3, Placement: Placement(c.Any), ShareNodes: c.Any}}
	for i := range c.Nodes {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%05d", i), Partitions: []string{"gpu"}, GPUs: c.PerNode, Usable: true, CPUs: 16 * c.PerNode})
	}
	share := max(1, c.Nodes*c.PerNode*9/10/max(1, c.Jobs-c.Waiting))
	for i := range c.Jobs {
		j := elastic.Job{
			ID: elastic.JobID(i + 1), Partition: "gpu", Speaks: true, Phase: elastic.Waiting,
			Spec:  elastic.Spec{Min: 1, Total: 1000, Max: []int{0, 16, 64, 256}[rng.IntN(4)]},
			Done:  1000 * rng.Float64(),
			Price: elastic.Price{Start: time.Duration(5+rng.IntN(60)) * time.Second},
			Curve: c.curve(rng),
		}
		if i < c.Jobs-c.Waiting {
			j.Place = put(s.Nodes, max(1, min(share*[]int{1, 1, 2, 4}[rng.IntN(4)]/2, most(j.Spec))))
		}
		if len(j.Place) > 0 {
			j.Phase, j.Started = elastic.Running, Now.Add(-time.Hour)
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

// put takes n GPUs from the first node that has them, or from whole nodes.
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

// curve draws a scaling: a power of the GPUs, a serial part, or a best size beyond which it
// slows down; each loses something with every node.
func (c Site) curve(rng *rand.Rand) *speed.Curve {
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
	if !c.Fitted {
		return speed.Known(seconds)
	}
	var samples []speed.Sample
	for _, shape := range []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}, {GPUs: 4, Nodes: 1}, {GPUs: c.PerNode * 2, Nodes: 2}} {
		if rng.IntN(4) > 0 {
			samples = append(samples, speed.Sample{Shape: shape, Seconds: seconds(shape.Even()) * (0.97 + 0.06*rng.Float64()), Units: 1, At: Now})
		}
	}
	return speed.Fit(samples, Now)
}
