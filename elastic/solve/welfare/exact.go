package welfare

import (
	"cmp"
	"math"
	"slices"
)

// Exact searches all plans by branch and bound, with the Lagrangian bound (see Bound) at the
// prices of the whole problem. It returns the best plan it found, including from if that is a
// plan, and whether that is proven optimal: it is, unless budget steps, of placing one task
// each, were not enough. Equivalent nodes are tried once.
//
// A good from shortens the search: only plans of more welfare are looked for. A from with a wrong
// Welfare is no plan (see Check). If there is no plan at all proven is false, and the welfare -Inf.
// If Allows is set no two nodes count as equivalent.
func Exact(p *Problem, from Plan, budget int) (plan Plan, proven bool) {
	e := exact{p: p, floor: newFloor(p), dual: newDual(p), steps: budget, best: Plan{Welfare: math.Inf(-1)}}
	if p.Check(from) == nil {
		e.best = from
	}
	e.prepare()
	e.job(0)
	return e.best, e.steps > 0 && e.best.Places != nil
}

// exact is a search in progress, depth first: floor has the jobs placed so far, steps is what is left
// of the budget, and from 0 on nothing more is tried.
type exact struct {
	p     *Problem
	floor *floor
	dual  *dual
	steps int
	best  Plan
	order []int     // of the jobs, those with the largest loss of surplus first
	ways  [][]way   // by job, largest surplus first
	rest  []float64 // by place in order: upper bound of the surplus of the jobs from here on
	alike []int     // by node: the number of its kind
}

// way is an option with its surplus.
type way struct {
	option  int // None = without nodes
	surplus float64
}

// rootSteps is how many steps the prices are improved BEFORE the search. They stay fixed then, so
// that a bound of a branch costs one sum rather than a descent.
const rootSteps = 300

// prepare computes what the search needs: prices, the ways of each job at these prices, the order of
// the jobs, and the bounds of the jobs that are left. An option without enough edges is no way.
func (e *exact) prepare() {
	low := 0.0 // all jobs without nodes, if that is allowed; a rough target is enough
	if e.best.Places != nil {
		low = e.best.Welfare
	}
	e.dual.descend(low, rootSteps)
	e.alike = e.p.kindsOfNodes()
	e.ways = make([][]way, len(e.p.Jobs))
	for i := range e.p.Jobs {
		j := &e.p.Jobs[i]
		e.order = append(e.order, i)
		if !j.Must {
			e.ways[i] = append(e.ways[i], way{None, 0})
		}
		for k := range j.Options {
			if s := e.dual.surplus(&j.Options[k]); !math.IsInf(s, 0) {
				e.ways[i] = append(e.ways[i], way{k, s})
			}
		}
		slices.SortStableFunc(e.ways[i], func(a, b way) int { return cmp.Compare(b.surplus, a.surplus) })
	}
	slices.SortStableFunc(e.order, func(a, b int) int { return cmp.Compare(e.spread(b), e.spread(a)) })
	e.rest = make([]float64, len(e.order)+1)
	for k := len(e.order) - 1; k >= 0; k-- {
		e.rest[k] = e.rest[k+1] + e.top(e.order[k])
	}
	for a := range e.dual.pay {
		e.rest[len(e.order)] += e.dual.profit(a)
	}
	for k := range e.order {
		e.rest[k] += e.rest[len(e.order)]
	}
}

// top returns the largest surplus that a job can have; -Inf if it has no way.
func (e *exact) top(i int) float64 {
	if len(e.ways[i]) == 0 {
		return math.Inf(-1)
	}
	return e.ways[i][0].surplus
}

// spread returns how much surplus a job loses by its second best way.
// Jobs with a large one are decided first: their other ways are soon hopeless. With a single way it
// is +Inf.
func (e *exact) spread(i int) float64 {
	if len(e.ways[i]) < 2 {
		return math.Inf(1)
	}
	return e.ways[i][0].surplus - e.ways[i][1].surplus
}

// bound returns an upper bound of the plan so far with the jobs from k on, the next of which
// has this surplus: the values, less the pay for use, and the price of what is still free.
// It holds since it is the value of the relaxation at fixed prices, with the jobs before k kept to
// their nodes. Its cost is one look at each resource of each node.
func (e *exact) bound(k int) float64 {
	sum := e.floor.value + e.rest[k]
	for i, price := range e.dual.price {
		if price > 0 {
			sum += price * float64(e.floor.free[i])
		}
	}
	for a, pay := range e.dual.pay {
		sum -= pay * float64(e.floor.used[a])
	}
	return sum
}

// hopeless reports whether a bound is not above the best value.
// Until a plan is known nothing is hopeless.
func (e *exact) hopeless(bound float64) bool {
	return e.best.Places != nil && bound <= e.best.Welfare+1e-9*(1+math.Abs(e.best.Welfare))
}

// job tries the ways of the k-th job.
// It costs a step to leave a job without nodes, as it does to place a task.
func (e *exact) job(k int) {
	if e.steps <= 0 {
		return
	}
	if k == len(e.order) {
		if w := e.floor.welfare(); (e.best.Places == nil || w > e.best.Welfare) && e.floor.allowed() {
			e.best = e.floor.plan()
		}
		return
	}
	i := e.order[k]
	before := e.bound(k) - e.top(i)
	for _, w := range e.ways[i] {
		if e.hopeless(before + w.surplus) {
			return // the others have less surplus
		}
		if w.option == None {
			e.steps--
			e.job(k + 1)
			continue
		}
		o := &e.p.Jobs[i].Options[w.option]
		e.place(k, i, w.option, o, 0, 0, make([]int32, 0, o.tasks()))
		if e.steps <= 0 {
			return
		}
	}
}

// place tries the nodes of a job's next task: the n-th of the tasks of kind t.
// Equal tasks are on ascending nodes: their exchange makes no other plan.
func (e *exact) place(k, i, option int, o *Option, t, n int, nodes []int32) {
	if t < len(o.Tasks) && n == o.Tasks[t].Count {
		t, n = t+1, 0
	}
	if t == len(o.Tasks) {
		e.settle(k, i, Place{option, slices.Clone(nodes)})
		return
	}
	task := &o.Tasks[t]
	var tried []int32
	for _, node := range task.Nodes {
		if n > 0 && node <= nodes[len(nodes)-1] || slices.Contains(nodes, node) || !e.floor.room(node, task.Needs) ||
			slices.ContainsFunc(tried, func(m int32) bool { return e.same(m, node) }) {
			continue
		}
		if e.steps--; e.steps <= 0 {
			return
		}
		tried = append(tried, node)
		e.place(k, i, option, o, t, n+1, append(nodes, node))
	}
}

// settle continues with a job at a place.
func (e *exact) settle(k, i int, at Place) {
	if !e.floor.put(i, at) {
		return
	}
	if !e.hopeless(e.bound(k + 1)) {
		e.job(k + 1)
	}
	e.floor.off(i)
}

// same reports whether two nodes are equivalent for a task.
// They are of one kind and have the same resources free.
func (e *exact) same(m, n int32) bool {
	k := e.floor.kinds
	return e.p.Allows == nil && e.alike[m] == e.alike[n] && slices.Equal(e.floor.free[int(m)*k:int(m+1)*k], e.floor.free[int(n)*k:int(n+1)*k])
}

// kindsOfNodes numbers the nodes by everything that distinguishes them except what is free: the
// tasks that have an edge to them, and the accounts of their use.
// It begins with the accounts, and each list of edges splits the kinds that it cuts through.
func (p *Problem) kindsOfNodes() []int {
	out := make([]int, len(p.Nodes))
	for n := range p.Nodes {
		for r := range p.Nodes[n].Free {
			out[n] = out[n]*(len(p.Costs)+2) + min(p.Nodes[n].account(r), len(p.Costs))
		}
	}
	type list struct {
		first *int32
		len   int
	}
	seen := map[list]bool{} // lists of edges, many of which share their memory
	for i := range p.Jobs {
		for k := range p.Jobs[i].Options {
			for _, t := range p.Jobs[i].Options[k].Tasks {
				if len(t.Nodes) == 0 || seen[list{&t.Nodes[0], len(t.Nodes)}] {
					continue
				}
				seen[list{&t.Nodes[0], len(t.Nodes)}] = true
				split(out, t.Nodes)
			}
		}
	}
	return out
}

// split gives the listed nodes of each kind a kind of their own.
func split(kinds []int, nodes []int32) {
	next, fresh := 0, map[int]int{}
	for _, k := range kinds {
		next = max(next, k+1)
	}
	for _, n := range nodes {
		k, known := fresh[kinds[n]]
		if !known {
			k = next + len(fresh)
			fresh[kinds[n]] = k
		}
		kinds[n] = k
	}
}
