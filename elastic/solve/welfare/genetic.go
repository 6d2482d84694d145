package welfare

import (
	"math/rand/v2"
	"slices"
)

// Effort bounds a search. It is counted, not timed.
// With 0 steps the result is the best of the starts and of one mutant for each free member.
type Effort struct {
	Members int // size of the population, at least 2
	Steps   int // number of couples that have children
}

// Genetic searches by a genetic algorithm from the given plans, without those that are not
// plans of the problem, and returns the best plan it found. ok is false if there was none to
// start from.
//
// A chromosome is an assignment of all tasks to nodes. In each step two parents are drawn by
// roulette, weighted by their welfare above the worst member's. Two children are made by
// exchanging what the parents have on one node, in whole gangs, and some of their jobs mutate:
// a task goes to another node that it has an edge to, or the job to another option. Children
// that do not fit are rejected; the others replace the worst members that are worse.
//
// The best start is never lost, so the result is at least as good. The same problem, starts, effort
// and state of rng give the same plan. A child costs one copy of a plan and of the free resources of
// all nodes.
func Genetic(p *Problem, starts []Plan, e Effort, rng *rand.Rand) (Plan, bool) {
	g := genetic{p: p, rng: rng, child: newFloor(p)}
	for _, s := range starts {
		if f := newFloor(p); len(s.Places) == len(p.Jobs) && f.lay(s.Places) {
			g.enter(member{f, f.welfare()}, e.Members)
		}
	}
	if len(g.members) == 0 {
		return Plan{}, false
	}
	g.fill(max(2, e.Members))
	for range e.Steps {
		g.step()
	}
	return g.members[g.best()].plan(), true
}

// genetic is a search in progress.
// The population has a fixed size once it is filled; its best and worst members are searched for
// when needed, since populations are small.
type genetic struct {
	p       *Problem
	rng     *rand.Rand
	members []member
	child   *floor // workspace
	moved   []int  // jobs of a crossover; workspace
}

// member is a plan on nodes of its own, with its welfare, which is costly to compute.
type member struct {
	*floor
	welfare float64
}

// enter adds a member. A full population keeps its best.
func (g *genetic) enter(m member, most int) {
	if len(g.members) < max(2, most) {
		g.members = append(g.members, m)
	} else if w := g.worst(); m.welfare > g.members[w].welfare {
		g.members[w] = m
	}
}

// fill fills the population with mutants of the members it starts with.
// A mutant that is no plan is replaced by an exact copy, so the size is always reached.
func (g *genetic) fill(members int) {
	for k := 0; len(g.members) < members; k++ {
		f := newFloor(g.p)
		f.copy(g.members[k].floor)
		if g.child.copy(f); g.mutate() && g.child.allowed() {
			f.copy(g.child)
		}
		g.members = append(g.members, member{f, f.welfare()})
	}
}

// step makes two children of two parents.
// Both parents may be the same member: then a child is a mutant.
func (g *genetic) step() {
	a, b := g.draw(), g.draw()
	if len(g.p.Nodes) == 0 || len(g.p.Jobs) == 0 {
		return
	}
	node := int32(g.rng.IntN(len(g.p.Nodes)))
	mother, father := g.members[a].floor, g.members[b].floor
	g.bear(mother, father, node)
	g.bear(father, mother, node)
}

// bear makes a child: the mother with what the father has on the node, and mutations.
func (g *genetic) bear(mother, father *floor, node int32) {
	g.child.copy(mother)
	if mother != father && !g.cross(father, node) || !g.mutate() || !g.child.allowed() {
		return
	}
	w := g.child.welfare()
	if g.has(w) {
		return // almost surely a duplicate
	}
	if k := g.worst(); w > g.members[k].welfare {
		g.members[k].copy(g.child)
		g.members[k].welfare = w
	}
}

// has reports whether a member has exactly this welfare.
// A population of copies has nothing to exchange, so copies are kept out.
func (g *genetic) has(w float64) bool {
	return slices.ContainsFunc(g.members, func(m member) bool { return m.welfare == w })
}

// cross gives the child's jobs that either parent has on the node the father's places. It
// returns false if these do not fit.
// On false the child is not a plan: some of its jobs have no nodes.
func (g *genetic) cross(father *floor, node int32) bool {
	g.moved = g.moved[:0]
	for i := range g.child.places {
		if slices.Contains(g.child.places[i].Nodes, node) || slices.Contains(father.places[i].Nodes, node) {
			g.moved = append(g.moved, i)
			g.child.off(i)
		}
	}
	for _, i := range g.moved {
		if !g.child.put(i, father.places[i]) {
			return false
		}
	}
	return true
}

// mutate changes one to three of the child's jobs. All leave their nodes BEFORE any gets
// others: so they may exchange nodes, or use what one gives back. It returns false if one finds
// no room.
// Of a problem without jobs nothing is changed.
func (g *genetic) mutate() bool {
	if len(g.p.Jobs) == 0 {
		return true
	}
	var who [3]int
	var was [3]Place
	n := 1 + g.rng.IntN(min(3, len(g.p.Jobs)))
	for k := range n {
		who[k] = g.rng.IntN(len(g.p.Jobs))
		was[k] = g.child.places[who[k]] // drawn twice: its place is gone already, and it changes once
		g.child.off(who[k])
	}
	for k, i := range who[:n] {
		if !slices.Contains(who[:k], i) && !g.change(i, was[k]) {
			return false
		}
	}
	return true
}

// change moves one task of a job that was at the place to a random node that it has an edge to,
// or all tasks to such nodes in another option.
func (g *genetic) change(i int, was Place) bool {
	j := &g.p.Jobs[i]
	if was.Option != None && g.rng.IntN(3) == 0 {
		return g.move(i, was)
	}
	to := g.option(j, was.Option)
	if to == None {
		return !j.Must
	}
	nodes, ok := g.scatter(&j.Options[to])
	return ok && g.child.put(i, Place{to, nodes})
}

// option draws another option: any, or one listed near the present one; none if the job may be
// without nodes.
// It may draw the present one, for which other nodes are then drawn.
func (g *genetic) option(j *Job, now int) int {
	if len(j.Options) == 0 {
		return None
	}
	if now != None && g.rng.IntN(2) == 0 {
		if k := now + g.rng.IntN(9) - 4; k >= 0 && k < len(j.Options) {
			return k
		}
	}
	if j.Must {
		return g.rng.IntN(len(j.Options))
	}
	return g.rng.IntN(len(j.Options)+1) - 1
}

// move draws another node for one task.
// The other tasks keep theirs. The job MUST be off its nodes.
func (g *genetic) move(i int, was Place) bool {
	o := &g.p.Jobs[i].Options[was.Option]
	nodes := slices.Clone(was.Nodes)
	k := g.rng.IntN(len(nodes))
	t, first := 0, 0
	for first+o.Tasks[t].Count <= k {
		first += o.Tasks[t].Count
		t++
	}
	nodes[k] = -1
	if nodes[k] = g.connected(&o.Tasks[t], nodes); nodes[k] < 0 {
		return false
	}
	return g.child.put(i, Place{was.Option, nodes})
}

// scatter draws a node for each task.
func (g *genetic) scatter(o *Option) (nodes []int32, ok bool) {
	nodes = make([]int32, 0, o.tasks())
	for t := range o.Tasks {
		for range o.Tasks[t].Count {
			n := g.connected(&o.Tasks[t], nodes)
			if n < 0 {
				return nil, false
			}
			nodes = append(nodes, n)
		}
	}
	return nodes, true
}

// connected returns the first node, from a random one on, that a task has an edge to, that has
// room for it, and that is not taken; -1 if there is none.
// Beginning at random makes every node possible, and ending at the first one costs less than to list
// all that have room.
func (g *genetic) connected(t *Task, taken []int32) int32 {
	if len(t.Nodes) == 0 {
		return -1
	}
	from := g.rng.IntN(len(t.Nodes))
	for k := range t.Nodes {
		n := t.Nodes[(from+k)%len(t.Nodes)]
		if g.child.room(n, t.Needs) && !slices.Contains(taken, n) {
			return n
		}
	}
	return -1
}

// draw is a roulette: the probability of a member is proportional to its welfare above the
// worst.
// If all members are equal each is as likely.
func (g *genetic) draw() int {
	low := g.members[g.worst()].welfare
	sum := 0.0
	for _, m := range g.members {
		sum += m.welfare - low
	}
	if sum <= 0 {
		return g.rng.IntN(len(g.members))
	}
	x := g.rng.Float64() * sum
	for i, m := range g.members {
		if x -= m.welfare - low; x < 0 {
			return i
		}
	}
	return g.best()
}

// best and worst return the first of equals. The best is never replaced by a worse one.
func (g *genetic) best() int {
	k := 0
	for i, m := range g.members {
		if m.welfare > g.members[k].welfare {
			k = i
		}
	}
	return k
}

// worst is the member that the next child replaces, if it is better.
func (g *genetic) worst() int {
	k := 0
	for i, m := range g.members {
		if m.welfare < g.members[k].welfare {
			k = i
		}
	}
	return k
}
