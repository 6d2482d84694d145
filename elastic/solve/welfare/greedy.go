package welfare

import (
	"cmp"
	"slices"
)

// Greedy starts from a plan: in each step the job with the largest gain in welfare goes to
// another option, where the gain is per unit of the first resource or, with whole, absolute. No
// job gives anything back. The plan MUST be one of the problem.
//
// A gain per unit fills the cluster with the jobs that use GPUs best; the absolute gain lets large
// jobs in before small ones have taken the room. Neither is always the better start, so callers try
// both. If from is not a plan of the problem it is returned as it is. Each step raises the value of
// one job, so there are at most as many as options.
func Greedy(p *Problem, from Plan, whole bool) Plan {
	g := greedy{floor: newFloor(p), whole: whole, dear: make([][]int, len(p.Jobs))}
	if !g.lay(from.Places) {
		return from
	}
	queue := make([]bid, 0, len(p.Jobs))
	for i := range p.Jobs {
		g.dear[i] = p.Jobs[i].dearest()
		if b, ok := g.bid(i); ok {
			queue = append(queue, b)
		}
	}
	for len(queue) > 0 {
		k := best(queue)
		i := queue[k].job
		if b, ok := g.bid(i); !ok {
			queue = slices.Delete(queue, k, k+1)
		} else if queue[k] = b; best(queue) == k { // still the best bid
			if ok = g.take(b); ok {
				queue[k], ok = g.bid(i)
			}
			if !ok {
				queue = slices.Delete(queue, k, k+1)
			}
		}
	}
	return g.plan()
}

// greedy is a search in progress: its floor has the plan so far.
type greedy struct {
	*floor
	whole bool
	dear  [][]int // by job: its options, largest value first
}

// bid is a job's best next option.
// rank is what bids are compared by; nodes are where it fits now. Others' steps make a bid out of
// date, so it is computed anew BEFORE it is taken.
type bid struct {
	job, option int
	rank        float64
	nodes       []int32
}

// best returns the first of the bids with the largest rank; the queue MUST NOT be empty.
func best(queue []bid) int {
	k := 0
	for i := range queue {
		if queue[i].rank > queue[k].rank {
			k = i
		}
	}
	return k
}

// dearest lists the options, largest value first.
func (j *Job) dearest() []int {
	out := make([]int, len(j.Options))
	for k := range out {
		out[k] = k
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(j.Options[b].Value, j.Options[a].Value) })
	return out
}

// bid returns the job's best option in what is free without the job.
// ok is false if none raises the welfare. The floor is left as it was.
func (g *greedy) bid(i int) (b bid, ok bool) {
	was, before := g.places[i], g.welfare()
	value, held := 0.0, int64(0)
	if was.Option != None {
		o := &g.p.Jobs[i].Options[was.Option]
		value, held = o.Value, o.weight()
	}
	g.off(i)
	for _, k := range g.dear[i] {
		o := &g.p.Jobs[i].Options[k]
		gain := o.Value - value // before costs
		if gain <= 0 {
			break
		}
		if ok && g.rank(gain, o.weight()-held) <= b.rank {
			continue
		}
		nodes, fits := g.fit(o)
		if !fits || !g.put(i, Place{k, nodes}) {
			continue
		}
		gain = g.welfare() - before
		if r := g.rank(gain, o.weight()-held); gain > 1e-12*(1+abs(before)) && (!ok || r > b.rank) {
			b, ok = bid{i, k, r, nodes}, true
		}
		g.off(i)
	}
	g.put(i, was)
	return b, ok
}

// rank returns the weight of a gain for this many more units.
// A gain without more units counts as one of one unit.
func (g *greedy) rank(gain float64, more int64) float64 {
	if g.whole {
		return gain
	}
	return gain / float64(max(1, more))
}

// take gives a job what it bids for, if that is allowed.
// If it is not, the job is back at its earlier place.
func (g *greedy) take(b bid) bool {
	was := g.places[b.job]
	g.off(b.job)
	g.put(b.job, Place{b.option, b.nodes})
	if g.allowed() {
		return true
	}
	g.off(b.job)
	g.put(b.job, was)
	return false
}

// weight returns what an option needs of the first resource.
func (o *Option) weight() int64 {
	sum := int64(0)
	for i := range o.Tasks {
		if t := &o.Tasks[i]; len(t.Needs) > 0 {
			sum += int64(t.Count) * t.Needs[0]
		}
	}
	return sum
}

// fit finds a node for each task: the one it fills best.
// ok is false if a task has no room; other nodes for the earlier tasks are not tried.
func (f *floor) fit(o *Option) (nodes []int32, ok bool) {
	nodes = make([]int32, 0, o.tasks())
	for i := range o.Tasks {
		t := &o.Tasks[i]
		for range t.Count {
			n := f.tightest(t, nodes)
			if n < 0 {
				return nil, false
			}
			nodes = append(nodes, n)
		}
	}
	return nodes, true
}

// tightest returns the node with the least of the first resource left, among those with room
// that are not taken; -1 if there is none.
// Of equals it is the first listed.
func (f *floor) tightest(t *Task, taken []int32) int32 {
	found, least := int32(-1), int64(0)
	for _, n := range t.Nodes {
		free := f.free[int(n)*f.kinds]
		if (found < 0 || free < least) && f.room(n, t.Needs) && !slices.Contains(taken, n) {
			found, least = n, free
		}
	}
	return found
}
