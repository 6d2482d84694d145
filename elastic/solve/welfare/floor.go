package welfare

import (
	"fmt"
	"slices"
)

// floor is the nodes with a plan on them.
// Between calls free, used, places and value describe the same plan; charges never changes.
type floor struct {
	p       *Problem
	kinds   int
	free    []int64 // by node and resource
	used    []int64 // by account, by the plan
	places  []Place
	value   float64
	charges float64 // cost of others' use without the plan
}

// newFloor returns the nodes with no job on them.
func newFloor(p *Problem) *floor {
	f := &floor{p: p, kinds: p.kinds(), places: make([]Place, len(p.Jobs)), used: make([]int64, len(p.Costs))}
	for i := range f.places {
		f.places[i] = nowhere
	}
	f.free = make([]int64, 0, len(p.Nodes)*f.kinds)
	for i := range p.Nodes {
		f.free = append(f.free, p.Nodes[i].Free...)
	}
	for a, c := range p.Costs {
		f.charges += c.At(p.used(a))
	}
	return f
}

// copy makes f what g is, of the same problem.
func (f *floor) copy(g *floor) {
	copy(f.free, g.free)
	copy(f.used, g.used)
	copy(f.places, g.places)
	f.value = g.value
}

// welfare returns the welfare of the plan.
// The difference of the costs with and without the plan is taken account by account, since a cost
// that rises with use depends on all jobs together.
func (f *floor) welfare() float64 {
	cost := 0.0
	for a, c := range f.p.Costs {
		cost += c.At(f.p.used(a) + f.used[a])
	}
	return f.value - (cost - f.charges)
}

// plan returns a copy of the present plan.
func (f *floor) plan() Plan { return Plan{slices.Clone(f.places), f.welfare()} }

// room reports whether the node has what a task needs.
// It says nothing of edges, nor of other tasks of the job there.
func (f *floor) room(node int32, needs []int64) bool {
	free := f.free[int(node)*f.kinds:]
	for r, n := range needs {
		if n > free[r] {
			return false
		}
	}
	return true
}

// shift takes a task's needs off a node, or gives them back with sign -1.
func (f *floor) shift(node int32, needs []int64, sign int64) {
	free, at := f.free[int(node)*f.kinds:], &f.p.Nodes[node]
	for r, n := range needs {
		free[r] -= sign * n
		if a := at.account(r); a < len(f.used) {
			f.used[a] += sign * n
		}
	}
}

// off removes a job from its nodes.
// A job without nodes is left as it is.
func (f *floor) off(i int) {
	at := f.places[i]
	if at.Option == None {
		return
	}
	o := &f.p.Jobs[i].Options[at.Option]
	k := 0
	for t := range o.Tasks {
		for range o.Tasks[t].Count {
			f.shift(at.Nodes[k], o.Tasks[t].Needs, -1)
			k++
		}
	}
	f.places[i] = nowhere
	f.value -= o.Value
}

// put places a job without nodes: all of it or, if some task has no room, nothing.
// For None it changes nothing, and returns whether the job may be without nodes. It does not test
// edges: the nodes MUST be ones that the tasks may be on.
func (f *floor) put(i int, at Place) bool {
	if at.Option == None {
		return !f.p.Jobs[i].Must
	}
	o := &f.p.Jobs[i].Options[at.Option]
	k := 0
	for t := range o.Tasks {
		for range o.Tasks[t].Count {
			if !f.room(at.Nodes[k], o.Tasks[t].Needs) {
				f.back(o, at.Nodes[:k])
				return false
			}
			f.shift(at.Nodes[k], o.Tasks[t].Needs, 1)
			k++
		}
	}
	f.places[i] = at
	f.value += o.Value
	return true
}

// back takes the first tasks of an option off their nodes again.
func (f *floor) back(o *Option, nodes []int32) {
	k := 0
	for t := range o.Tasks {
		for range o.Tasks[t].Count {
			if k == len(nodes) {
				return
			}
			f.shift(nodes[k], o.Tasks[t].Needs, -1)
			k++
		}
	}
}

// lay puts a plan on an empty floor; false if it does not fit.
// On false a part of the plan may be on it: it MUST NOT be used further.
func (f *floor) lay(places []Place) bool {
	for i, at := range places {
		if !f.put(i, at) {
			return false
		}
	}
	return f.allowed()
}

// allowed asks the problem's further conditions about the present plan.
func (f *floor) allowed() bool { return f.p.Allows == nil || f.p.Allows(f.places) }

// Check returns what is wrong with a plan; nil if it is a plan of the problem and its welfare
// is correct.
// The welfare may differ by rounding.
func (p *Problem) Check(plan Plan) error {
	if len(plan.Places) != len(p.Jobs) {
		return fmt.Errorf("%d places for %d jobs", len(plan.Places), len(p.Jobs))
	}
	f := newFloor(p)
	for i, at := range plan.Places {
		if err := p.Jobs[i].check(at); err != nil {
			return fmt.Errorf("job %d: %w", i, err)
		}
		if !f.put(i, at) {
			return fmt.Errorf("job %d: no room at %v", i, at)
		}
	}
	if !f.allowed() {
		return fmt.Errorf("not allowed: %v", plan.Places)
	}
	if w := f.welfare(); !near(w, plan.Welfare) {
		return fmt.Errorf("welfare %v; it says %v", w, plan.Welfare)
	}
	return nil
}

// near allows for rounding, which depends on the order of additions.
func near(a, b float64) bool { return abs(a-b) <= 1e-9*(1+abs(a)+abs(b)) }

func abs(x float64) float64 { return max(x, -x) }

// check returns what is wrong with a place, regardless of what is on the nodes.
// It tests edges, the number of nodes, and that no two tasks share one.
func (j *Job) check(at Place) error {
	if at.Option == None {
		return nil
	}
	if at.Option < 0 || at.Option >= len(j.Options) {
		return fmt.Errorf("option %d of %d", at.Option, len(j.Options))
	}
	o := &j.Options[at.Option]
	if len(at.Nodes) != o.tasks() {
		return fmt.Errorf("%d nodes for %d tasks", len(at.Nodes), o.tasks())
	}
	k := 0
	for t := range o.Tasks {
		for range o.Tasks[t].Count {
			if _, edge := slices.BinarySearch(o.Tasks[t].Nodes, at.Nodes[k]); !edge {
				return fmt.Errorf("task %d may not be on node %d", k, at.Nodes[k])
			}
			if slices.Contains(at.Nodes[:k], at.Nodes[k]) {
				return fmt.Errorf("two tasks on node %d", at.Nodes[k])
			}
			k++
		}
	}
	return nil
}
