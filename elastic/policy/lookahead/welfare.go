package lookahead

import (
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// Welfare maximizes social welfare: the value of running jobs to users, in proportion to speed,
// less the cost to the provider (package welfare). Speeds are distinguished by GPU type, and
// rarely tried pairs of a model and a type get a bonus (package bandit). The hard rules come
// first, as in lookahead: minimums, which jobs start, and in which order. Deadlines are not
// judged: Decision.Due stays DueUnjudged.
func Welfare(s elastic.Snapshot) elastic.Allocation {
	w := newWelfareRound(s)
	return w.answer(w.decide())
}

// welfareCauses are the reasons of a decision by welfare.
var welfareCauses = causes{
	stops: reason.WorthMoreFirst, shrinks: reason.OthersWorthMore, stays: reason.NoResizeWorth, byType: true,
}

// welfareRound is one decision by welfare: a round whose values are money per hour. stays,
// classNodes and classLists are of the problem posed last (poseWelfare).
type welfareRound struct {
	*round
	costs      elastic.Costs
	types      []string  // GPU types, in order of the inventory
	stays      []bool    // by job of the problem: its first option is to stay
	classNodes [][]int32 // the nodes of each list of classes
	classLists [][]int   // the lists
}

// newWelfareRound returns a round with the site's costs. Without costs only the value of runs
// counts.
func newWelfareRound(s elastic.Snapshot) *welfareRound {
	w := &welfareRound{round: newRound(s), costs: elastic.Costs{Value: 1}}
	w.causes = welfareCauses
	if s.Limits.Costs != nil {
		w.costs = normalized(*s.Limits.Costs)
	}
	for _, n := range s.Nodes {
		if !slices.Contains(w.types, n.Type) {
			w.types = append(w.types, n.Type)
		}
	}
	return w
}

// mostCost is a cost that no use of a GPU is worth, because speed-ups are at most slightly
// superlinear.
const mostCost = 10

// normalized scales the costs so that an hour of a GPU at its best use is worth 1. So costs
// rank below pins, rests and the demands of ordinary jobs in any currency. With a GPU-hour worth 2
// and a cost of 0.5, the cost is 0.25. A negative cost counts as none. Peak and Surcharge are
// ratios and stay.
func normalized(c elastic.Costs) elastic.Costs {
	per := func(cost float64) float64 {
		if cost <= 0 {
			return 0
		}
		return min(mostCost, cost/c.Value) // if GPU time has no value every cost is the highest
	}
	types := make(map[string]float64, len(c.Types))
	for kind, cost := range c.Types {
		types[kind] = per(cost)
	}
	return elastic.Costs{Value: 1, GPU: per(c.GPU), Types: types, CPU: per(c.CPU), MemoryGB: per(c.MemoryGB), Peak: c.Peak, Surcharge: c.Surcharge}
}

// decide follows the same steps as round.decide, with values in money per hour and without
// plans for deadlines. While a plan has no room for all jobs that must start, fewer are
// started. Values do not depend on which jobs start, so that they are set once, BEFORE admit.
func (w *welfareRound) decide() joint.Plan {
	w.classify()
	w.estimate()
	w.valueJobs()
	w.stop = w.mayStop()
	w.admit()
	for {
		placing, p := w.pose(), w.poseWelfare()
		best, ok := w.search(placing, p)
		if ok || !w.admitFewer() {
			return best
		}
	}
}

// search starts from the present allocation with minimums for starting jobs, from minimums
// for all, and from what greedy choices make of these. It returns false if a job that must
// have GPUs finds none.
//
// Two problems describe one decision. placing has shares of nodes and knows which moves can be
// made one after the other; p has options with money values. The k-th job of one is the k-th of
// the other.
func (w *welfareRound) search(placing *joint.Problem, p *welfare.Problem) (joint.Plan, bool) {
	rng := rand.New(rand.NewPCG(w.seed(), 0xe))
	search := joint.NewSearch(placing)
	var built []joint.Plan
	var starts []welfare.Plan
	for _, sizes := range [][]int{w.asNow(placing), w.leastSizes(placing)} {
		for _, order := range joint.Orders(sizes, 4, rng) {
			if _, ok := search.Build(sizes, order); ok {
				built = append(built, search.Plan())
				starts = append(starts, w.asOptions(search.Plan(), placing, p))
				break
			}
		}
	}
	p.Allows = w.reachable(search, placing, p, built)
	for _, from := range starts[:len(built):len(built)] {
		if starts = append(starts, welfare.Greedy(p, from, false)); len(p.Jobs) <= fullEffort {
			starts = append(starts, welfare.Greedy(p, from, true))
		}
	}
	best, ok := welfare.Genetic(p, starts, welfareEffort(len(p.Jobs)), rng)
	if !ok {
		return stayPut(placing), false
	}
	return w.asShares(best, placing, p), true
}

// leastSizes returns the smallest size that each job must have.
func (w *welfareRound) leastSizes(placing *joint.Problem) []int {
	sizes := make([]int, len(placing.Jobs))
	for k, i := range w.posed {
		if w.jobs[i].must {
			sizes[k] = w.jobs[i].choices[0].gpus
		}
	}
	return sizes
}

// fullEffort is the number of jobs up to which the effort is not reduced.
const fullEffort = 200

// welfareEffort returns how much work is spent on one decision; it is counted, not timed.
func welfareEffort(jobs int) welfare.Effort {
	switch {
	case jobs <= 4: // an exchange among three jobs is one chance in some thousand
		return welfare.Effort{Members: 12, Steps: 3000}
	case jobs <= 32:
		return welfare.Effort{Members: 12, Steps: 600}
	case jobs <= fullEffort:
		return welfare.Effort{Members: 12, Steps: 1000}
	}
	return welfare.Effort{Members: 8, Steps: 400}
}

// asShares converts a plan of the search into shares of nodes.
func (w *welfareRound) asShares(plan welfare.Plan, placing *joint.Problem, p *welfare.Problem) joint.Plan {
	out := joint.Plan{Places: make([][]joint.Share, len(plan.Places)), Value: plan.Welfare}
	for i, at := range plan.Places {
		out.Places[i] = w.shares(i, at, placing, p, nil)
	}
	return out
}

// shares returns a job's place as shares of nodes, in the memory given. in MUST be empty. The
// result may be placing's own place of the job, so it MUST NOT be changed.
func (w *welfareRound) shares(i int, at welfare.Place, placing *joint.Problem, p *welfare.Problem, in []joint.Share) []joint.Share {
	switch {
	case at.Option == welfare.None:
		return nil
	case at.Option == 0 && w.stays[i]:
		return placing.Jobs[i].Now
	}
	k := 0
	for t := range p.Jobs[i].Options[at.Option].Tasks {
		task := &p.Jobs[i].Options[at.Option].Tasks[t]
		for range task.Count {
			in = append(in, joint.Share{Node: int(at.Nodes[k]), GPUs: int(task.Needs[0])})
			k++
		}
	}
	return in
}

// asOptions converts a plan of shares into options. A job whose place is none of its options
// stays as it is, or without GPUs.
func (w *welfareRound) asOptions(plan joint.Plan, placing *joint.Problem, p *welfare.Problem) welfare.Plan {
	out := welfare.Plan{Places: make([]welfare.Place, len(p.Jobs))}
	for i := range p.Jobs {
		out.Places[i] = w.option(i, plan.Places[i], placing, &p.Jobs[i])
	}
	return out
}

// option returns the option that is this place. A place that is no option's becomes staying for
// a job with GPUs, which is its first option, and no place for others. Several may be: on one GPU
// type, and on all types together. The first counts, which is that of one type.
func (w *welfareRound) option(i int, place []joint.Share, placing *joint.Problem, j *welfare.Job) welfare.Place {
	if len(place) == 0 {
		return welfare.Place{Option: welfare.None}
	}
	if !w.stays[i] || !sameShares(place, placing.Jobs[i].Now) {
		for k := range j.Options {
			if at, ok := nodesFor(&j.Options[k], place); ok {
				return welfare.Place{Option: k, Nodes: at}
			}
		}
	}
	if !w.stays[i] {
		return welfare.Place{Option: welfare.None}
	}
	nodes, _ := nodesFor(&j.Options[0], placing.Jobs[i].Now)
	return welfare.Place{Option: 0, Nodes: nodes}
}
