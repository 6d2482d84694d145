package greedy

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// step is one possible resize of one job, as an item of the knapsack. Weight is in GPUs. Value is
// in seconds, with the resize cost: lost by a reduction, saved by a growth.
type step struct {
	to int // size after it, in GPUs
	knapsack.Option
}

// options returns the steps as the solver takes them: option k of its class c is classes[c][k].
func options(classes [][]step) [][]knapsack.Option {
	out := make([][]knapsack.Option, len(classes))
	for i, steps := range classes {
		out[i] = make([]knapsack.Option, len(steps))
		for k, s := range steps {
			out[i][k] = s.Option
		}
	}
	return out
}

// reductions lists, for each job that can give GPUs back on the pool's nodes, its possible
// reductions: weight is the GPUs freed there, value the seconds lost including the resize cost.
// The jobs submitted last come first, so that among equal costs earlier jobs keep what they
// have. most is all that could be freed.
//
// A job that already shrinks in this round (size below Now) is counted with its whole new size,
// one that keeps its size with the GPUs it has on the pool's nodes.
//
// who[c] is the job of classes[c]. A job with a pin, one that grows in this round and one on nodes
// where Slurm starts nothing new give nothing back. Cooldown and payback do not count here: they
// are for voluntary moves.
func (r *round) reductions(size []int, on *pool) (classes [][]step, who []int, most int) {
	for i := len(r.jobs) - 1; i >= 0; i-- {
		j := &r.jobs[i]
		if j.Role != roles.Movable || j.Pin > 0 || size[i] > j.Now || r.strands(j) {
			continue
		}
		held := size[i]
		if size[i] == j.Now {
			held = on.holds(r.snap.Nodes, j.At)
		}
		var steps []step
		freed := 0
		for _, n := range j.sizes {
			if n >= size[i] || n >= held {
				break
			}
			if j.within(n) == 0 {
				continue
			}
			cost := j.cost(n) - j.cost(size[i])
			steps = append(steps, step{n, knapsack.Option{Weight: held - n, Value: cost}})
			freed = max(freed, held-n)
		}
		if len(steps) > 0 {
			classes, who, most = append(classes, steps), append(who, i), most+freed
		}
	}
	return classes, who, most
}

// strands reports whether part of the job is on nodes where Slurm starts nothing new: it may
// stay there, but cannot return in another size.
func (r *round) strands(j *job) bool {
	for _, n := range r.snap.Nodes {
		if !n.Usable && j.At.On(n.Name) > 0 {
			return true
		}
	}
	return false
}
