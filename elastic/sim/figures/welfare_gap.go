package figures

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// case11 is a kind of made-up decision by welfare.
type case11 struct {
	nodes, gpus, jobs int
	draws             int
	exact             bool // small enough for the exact best; else held against the bound
}

// distances shows how far the genetic algorithm stays below the best.
func distances(b *bench, s *sheet) {
	s.heads("distance to the best", "jobs", "draws", "proven", "greedy mean", "worst", "genetic mean", "worst", "from nothing", "against", "setting")
	for _, c := range either(b, []case11{{2, 4, 4, 100, true}, {4, 4, 6, 100, true}, {4, 4, 8, 50, true}, {16, 4, 40, 20, false}},
		[]case11{{2, 4, 4, 20, true}, {16, 4, 40, 2, false}}) {
		c.measure(s)
	}
}

func (c case11) measure(s *sheet) {
	var greedy, genetic, blank gaps
	proven := 0
	for seed := uint64(1); seed <= uint64(c.draws); seed++ {
		p := c.draw(seed)
		nothing := c.nothing()
		starts := []welfare.Plan{nothing, welfare.Greedy(p, nothing, false), welfare.Greedy(p, nothing, true)}
		rng := rand.New(rand.NewPCG(seed, 11))
		effort := welfare.Effort{Members: 12, Steps: 1000}
		own, _ := welfare.Genetic(p, starts, effort, rng)
		alone, _ := welfare.Genetic(p, starts[:1], effort, rng)
		var best float64
		if c.exact {
			plan, sure := welfare.Exact(p, own, 3_000_000)
			if !sure {
				continue
			}
			best = plan.Welfare
		} else {
			best = welfare.Bound(p, own.Welfare, 400)
		}
		proven++
		greedy.add(math.Max(starts[1].Welfare, starts[2].Welfare), best)
		genetic.add(own.Welfare, best)
		blank.add(alone.Welfare, best)
	}
	against := "the Lagrangian bound"
	if c.exact {
		against = "the exact best"
	}
	s.line(fmt.Sprintf("%dx%d, half of each type", c.nodes, c.gpus), fmt.Sprint(c.jobs), fmt.Sprint(c.draws), fmt.Sprint(proven),
		greedy.mean(), greedy.most(), genetic.mean(), genetic.most(), blank.mean(), against, "made-up jobs, seeds from 1, 12 members, 1000 steps")
}

// gaps are relative distances to the best.
type gaps struct {
	sum, worst float64
	n          int
}

func (g *gaps) add(value, best float64) {
	gap := (best - value) / math.Max(1e-9, best)
	g.sum, g.worst, g.n = g.sum+gap, math.Max(g.worst, gap), g.n+1
}

func (g *gaps) mean() string { return fmt.Sprintf("%.2f%%", 100*g.sum/float64(max(1, g.n))) }
func (g *gaps) most() string { return fmt.Sprintf("%.2f%%", 100*g.worst) }

// nothing is the plan in which no job has nodes.
func (c case11) nothing() welfare.Plan {
	plan := welfare.Plan{Places: make([]welfare.Place, c.jobs)}
	for i := range plan.Places {
		plan.Places[i].Option = welfare.None
	}
	return plan
}

// draw makes jobs that scale by a power of their GPUs and are up to four times as fast on
// the first type, each accepting 1, 2, 4 and 8 GPUs in even splits of a type; GPUs of the
// first type cost twice as much, and of either the last fifth three times as much again.
func (c case11) draw(seed uint64) *welfare.Problem {
	rng := rand.New(rand.NewPCG(seed, uint64(c.nodes*1000+c.jobs)))
	p := &welfare.Problem{}
	var edges [2][]int32
	for n := range c.nodes {
		kind := 2 * n / c.nodes
		p.Nodes = append(p.Nodes, welfare.Node{Free: []int64{int64(c.gpus), 1}, Account: []int{kind, 2}})
		edges[kind] = append(edges[kind], int32(n))
	}
	have := int64(len(edges[0]) * c.gpus)
	for kind := range edges {
		rate := []float64{.2, .1}[kind]
		p.Costs = append(p.Costs, welfare.Cost{{From: 0, Rate: rate}, {From: have * 4 / 5, Rate: 3 * rate}})
	}
	for range c.jobs {
		p.Jobs = append(p.Jobs, c.drawJob(rng, edges))
	}
	return p
}

func (c case11) drawJob(rng *rand.Rand, edges [2][]int32) welfare.Job {
	var j welfare.Job
	power, slower, across := .4+.55*rng.Float64(), 1+3*rng.Float64(), .7+.3*rng.Float64()
	for kind := range edges {
		for _, n := range []int{1, 2, 4, 8} {
			for share := 1; share <= min(n, c.gpus); share *= 2 {
				count := n / share
				if count > len(edges[kind]) {
					continue
				}
				value := math.Pow(float64(n), power) * math.Pow(across, math.Log2(float64(count)))
				if kind == 1 {
					value /= slower
				}
				spans := int64(0)
				if count > 1 {
					spans = 1
				}
				j.Options = append(j.Options, welfare.Option{Value: value, Tasks: []welfare.Task{{Count: count, Needs: []int64{int64(share), spans}, Nodes: edges[kind]}}})
			}
		}
	}
	return j
}
