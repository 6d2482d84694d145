package lookahead

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// ValueAndBound returns the value of lookahead's plan and an upper bound: the value of the best sizes
// if each job had its best place.
func ValueAndBound(s elastic.Snapshot) (value, bound float64) {
	o := newRound(s)
	plan, p := o.decide((*round).value, (*round).solve)
	return plan.Value, ceiling(p)
}

// ceiling returns the value of the best sizes if each had its best place.
func ceiling(p *joint.Problem) float64 {
	capacity := 0
	for _, n := range p.Nodes {
		capacity += n.Free
	}
	classes := make([][]knapsack.Option, len(p.Jobs))
	for i := range p.Jobs {
		classes[i] = ways(&p.Jobs[i])
	}
	var solver knapsack.Solver
	return solver.Choose(classes, capacity).Bound
}

// ways lists a job's sizes at their best places.
func ways(j *joint.Job) []knapsack.Option {
	var out []knapsack.Option
	if !j.Must {
		out = append(out, knapsack.Option{})
	}
	if now := held(j.Now); now > 0 {
		out = append(out, knapsack.Option{Weight: now, Value: j.Stay})
	}
	for _, s := range j.Sizes {
		best := s.Options[0].Value
		for _, o := range s.Options {
			best = max(best, o.Value)
		}
		out = append(out, knapsack.Option{Weight: s.GPUs, Value: best})
	}
	return out
}

func held(place []joint.Share) (n int) {
	for _, s := range place {
		n += s.GPUs
	}
	return n
}
