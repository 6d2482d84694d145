package policy

import (
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// byWelfare makes social welfare as large as it can: what running is worth to users, in
// proportion to speed, less what it costs the provider (package welfare). Speeds are
// told apart by the type of the GPUs, and pairs of a model and a type that were tried
// little are hoped to be faster (package bandit). The hard rules come first, as in a
// look ahead: minimums, whom to start, and in which order.
func byWelfare(s elastic.Snapshot) elastic.Allocation {
	w := newWeighing(s)
	return w.answer(w.decide())
}

// fares is how a weighing says why.
var fares = creed{
	sooner: reason.WorthMoreFirst, better: reason.OthersWorthMore, idle: reason.NoResizeWorth, kinds: true,
}

// weighing is one decision by welfare: an outlook whose values are money an hour.
type weighing struct {
	*outlook
	costs elastic.Costs
	types []string  // of GPUs, in order of the inventory
	stays []bool    // by job of the problem: its first option is to stay
	edges [][]int32 // by list of classes: their nodes
	of    [][]int   // the lists
}

func newWeighing(s elastic.Snapshot) *weighing {
	w := &weighing{outlook: newOutlook(s), costs: elastic.Costs{Value: 1}}
	w.creed = fares
	if s.Limits.Costs != nil {
		w.costs = relative(*s.Limits.Costs)
	}
	for _, n := range s.Nodes {
		if !slices.Contains(w.types, n.Type) {
			w.types = append(w.types, n.Type)
		}
	}
	return w
}

// dear is a cost that nothing a GPU does is worth: that is at most superlinear growth.
const dear = 10

// relative has an hour of a GPU at its best use be worth 1, so that in no currency costs
// come before pins, rests and ordinary jobs' demands.
func relative(c elastic.Costs) elastic.Costs {
	per := func(cost float64) float64 {
		if cost <= 0 {
			return 0
		}
		return min(dear, cost/c.Value) // of what is worth nothing all is dear
	}
	types := make(map[string]float64, len(c.Types))
	for kind, cost := range c.Types {
		types[kind] = per(cost)
	}
	return elastic.Costs{Value: 1, GPU: per(c.GPU), Types: types, CPU: per(c.CPU), MemoryGB: per(c.MemoryGB), Peak: c.Peak, Surcharge: c.Surcharge}
}

func (w *weighing) decide() joint.Plan {
	w.classify()
	w.estimate()
	w.appraise()
	w.stop = w.mayStop()
	w.admit()
	for {
		around, p := w.pose(), w.weigh()
		best, ok := w.breed(around, p)
		if ok || !w.admitFewer() {
			return best
		}
	}
}

// breed searches from what is, with minimums for those who start, from minimums for
// all, and from what greedy choices make of these. It is false when somebody who must
// have GPUs finds none.
func (w *weighing) breed(around *joint.Problem, p *welfare.Problem) (joint.Plan, bool) {
	rng := rand.New(rand.NewPCG(w.seed(), 0xe))
	search := joint.NewSearch(around)
	var built []joint.Plan
	var starts []welfare.Plan
	for _, sizes := range [][]int{w.asNow(around), w.leasts(around)} {
		for _, order := range joint.Orders(sizes, 4, rng) {
			if _, ok := search.Build(sizes, order); ok {
				built = append(built, search.Plan())
				starts = append(starts, w.written(search.Plan(), around, p))
				break
			}
		}
	}
	p.Allows = w.reachable(search, around, p, built)
	for _, from := range starts[:len(built):len(built)] {
		if starts = append(starts, welfare.Greedy(p, from, false)); len(p.Jobs) <= crowded {
			starts = append(starts, welfare.Greedy(p, from, true))
		}
	}
	best, ok := welfare.Genetic(p, starts, breeding(len(p.Jobs)), rng)
	if !ok {
		return stayPut(around), false
	}
	return w.read(best, around, p), true
}

// leasts is the least that everybody must have.
func (w *weighing) leasts(around *joint.Problem) []int {
	sizes := make([]int, len(around.Jobs))
	for k, i := range w.posed {
		if w.jobs[i].must {
			sizes[k] = w.jobs[i].choices[0].gpus
		}
	}
	return sizes
}

// crowded is up to how many jobs no work is spared.
const crowded = 200

// breeding is how much work goes into one decision; counted, not timed.
func breeding(jobs int) welfare.Effort {
	switch {
	case jobs <= 4: // an exchange among three jobs is one chance in some thousand
		return welfare.Effort{Members: 12, Steps: 3000}
	case jobs <= 32:
		return welfare.Effort{Members: 12, Steps: 600}
	case jobs <= crowded:
		return welfare.Effort{Members: 12, Steps: 1000}
	}
	return welfare.Effort{Members: 8, Steps: 400}
}

// read is a plan of the search as shares of nodes.
func (w *weighing) read(plan welfare.Plan, around *joint.Problem, p *welfare.Problem) joint.Plan {
	out := joint.Plan{Places: make([][]joint.Share, len(plan.Places)), Value: plan.Welfare}
	for i, at := range plan.Places {
		out.Places[i] = w.shares(i, at, around, p, nil)
	}
	return out
}

// shares is a job's place as shares of nodes, in the memory given.
func (w *weighing) shares(i int, at welfare.Place, around *joint.Problem, p *welfare.Problem, in []joint.Share) []joint.Share {
	switch {
	case at.Option == welfare.None:
		return nil
	case at.Option == 0 && w.stays[i]:
		return around.Jobs[i].Now
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

// written is a plan of shares as options; a job with a place that is none of its options
// is left where it is, or without.
func (w *weighing) written(plan joint.Plan, around *joint.Problem, p *welfare.Problem) welfare.Plan {
	out := welfare.Plan{Places: make([]welfare.Place, len(p.Jobs))}
	for i := range p.Jobs {
		out.Places[i] = w.option(i, plan.Places[i], around, &p.Jobs[i])
	}
	return out
}

func (w *weighing) option(i int, place []joint.Share, around *joint.Problem, j *welfare.Job) welfare.Place {
	if len(place) == 0 {
		return welfare.Place{Option: welfare.None}
	}
	if !w.stays[i] || !sameShares(place, around.Jobs[i].Now) {
		for k := range j.Options {
			if at, ok := onto(&j.Options[k], place); ok {
				return welfare.Place{Option: k, Nodes: at}
			}
		}
	}
	if !w.stays[i] {
		return welfare.Place{Option: welfare.None}
	}
	nodes, _ := onto(&j.Options[0], around.Jobs[i].Now)
	return welfare.Place{Option: 0, Nodes: nodes}
}
