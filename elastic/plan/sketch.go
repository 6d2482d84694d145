package plan

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// sketch is an arrangement under construction, with two views of the inventory.
//
// A place is chosen against now, so that moves open at once, and against soon where that fails. Both
// MUST stay in step with Target: only settle, and move for the moves that soon has already, change
// it.
type sketch struct {
	Arrangement
	s     elastic.Snapshot
	bound map[elastic.JobID]nodes.Placement // placements that jobs with an open move are bound to
	named []bool                            // by job: its decision names a place, and is settled
	now   *nodes.Ledger                     // with everything that is used or bound to other jobs
	soon  *nodes.Ledger                     // as it will be once every move is complete
	room  []nodes.Load                      // what ordinary jobs wait for and could have by then
}

// newSketch returns the arrangement before any decision: every job where it is bound. In now,
// an open move takes its target in addition to the job's present GPUs; in soon, instead of
// them.
func newSketch(s elastic.Snapshot) *sketch {
	k := &sketch{s: s, bound: s.Bound(), named: make([]bool, len(s.Jobs))}
	k.Target, k.Unplaced = make(map[elastic.JobID]nodes.Placement, len(s.Jobs)), map[elastic.JobID]reason.Reason{}
	k.now = nodes.NewLedger(s.Nodes)
	k.soon = k.now.Clone()
	for i := range s.Jobs {
		k.soon.Credit(s.Jobs[i].Load(s.Jobs[i].Place))
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		p, moving := k.bound[j.ID]
		if !moving {
			p = j.Place
		} else {
			promise(k.now, j, p, 1)
		}
		if len(p) > 0 {
			k.Target[j.ID] = p
		}
		k.soon.Charge(j.Load(p))
	}
	return k
}

// free reports whether the decision may change the job's place.
func (k *sketch) free(j *elastic.Job) bool {
	_, moving := k.bound[j.ID]
	return !moving && movable(j)
}

// movable reports whether the job runs or waits, and is not held.
func movable(j *elastic.Job) bool {
	return (j.Phase == elastic.Running && !j.UserHold || j.Phase == elastic.Waiting) && !j.Directive.Hold
}

// settle gives a job its place.
func (k *sketch) settle(j elastic.Job, p nodes.Placement) {
	k.soon.Credit(j.Load(k.Target[j.ID]))
	k.soon.Charge(j.Load(p))
	k.move(&j, p)
}

// move is settle, without the view that shows it done.
func (k *sketch) move(j *elastic.Job, p nodes.Placement) {
	promise(k.now, j, p, 1)
	k.Order = append(k.Order, j.ID)
	if len(p) > 0 {
		k.Target[j.ID] = p
		return
	}
	delete(k.Target, j.ID)
	if k.Park == nil {
		k.Park = map[elastic.JobID]bool{}
	}
	k.Park[j.ID] = true
}

// cross settles the decisions that name a place, or none where jobs may be stopped.
// It comes AFTER the jobs without named places shrank, and BEFORE those that grow, so that named
// places find what is given back and are not taken by others.
func (k *sketch) cross(a elastic.Allocation) {
	c := &moveSet{s: k.s, bound: k.bound, soon: k.soon}
	for i := range k.s.Jobs {
		j := &k.s.Jobs[i]
		d, named := a[j.ID]
		stops := named && d.GPUs == 0 && (k.s.Limits.Preempt || d.Leaves) && j.Phase == elastic.Running
		if p := place(d); stops || len(p) > 0 {
			c.add(i, p)
			k.named[i] = true
		}
	}
	if len(c.moves) == 0 {
		return
	}
	c.fit()
	c.sequence()
	for _, m := range c.order {
		k.move(m.job, m.to)
	}
	for i := range c.moves {
		if m := &c.moves[i]; m.state != moveOrdered {
			k.refused(m)
		}
	}
}

// refused finds another way for a job that cannot have the place that its decision names: one
// that gives GPUs back does so on its own nodes; one that starts, or that could not have the
// place at all, takes what is free.
func (k *sketch) refused(m *move) {
	j, want := *m.job, m.to.GPUs()
	switch {
	case want < j.GPUs():
		k.shrink(j, want)
	case want > j.GPUs() && (m.state == moveImpossible || len(j.Place) == 0):
		k.named[m.index] = false
	case m.state == moveImpossible:
		k.Unplaced[j.ID] = reason.NoRoomBeside{To: m.to}
	default:
		k.Unplaced[j.ID] = reason.Circle{To: m.to}
	}
}

// indices returns the nodes of a placement, in inventory order.
func (k *sketch) indices(p nodes.Placement) []int {
	var out []int
	for _, share := range p {
		if i, ok := k.now.Index(share.Node); ok {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// place returns the job's placement at the wanted size or, if there is none, at the largest
// accepted size below it that fits. A pin allows no other size.
func (k *sketch) place(inventory []nodes.Node, j elastic.Job, want int) (p nodes.Placement, fits int) {
	r := j.Request(k.s.Limits)
	r.GPUs, r.Sizes = want, j.Spec.Options(want)
	if j.Directive.Pin == want {
		r.Sizes = []int{want}
	}
	got := nodes.Place(inventory, []nodes.Request{r})[0]
	if len(got.Placement) == 0 {
		return nil, got.Fits
	}
	return got.Placement, got.Fits
}

// freeNow returns the inventory as one job finds it, with everything that is used or bound to
// others.
func (k *sketch) freeNow(j elastic.Job) []nodes.Node {
	k.now.Credit(j.Load(j.Place))
	promise(k.now, &j, k.bound[j.ID], -1)
	return k.now.Nodes
}

// promise books what a job will take at a place beyond what it holds; sign -1 undoes it.
// Where the job gives GPUs back nothing is booked: until it was moved it holds them.
func promise(l *nodes.Ledger, j *elastic.Job, at nodes.Placement, sign int) {
	load := j.Load(nil)
	for _, share := range at {
		n, have := l.Node(share.Node), j.Place.On(share.Node)
		if n == nil {
			continue
		}
		if more := share.GPUs - have; more > 0 {
			cpus := load.CPUs(share.GPUs)
			if have > 0 {
				cpus -= load.CPUs(have)
			}
			n.Book(load.Type, sign*more)
			n.CPUsUsed += sign * cpus
			n.MemUsedMB += int64(sign) * int64(more) * load.MemPerGPUMB
		}
		if len(at) > 1 && (len(j.Place) < 2 || have == 0) {
			n.Spanning += sign
		}
	}
}
