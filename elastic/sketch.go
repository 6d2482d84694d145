package elastic

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// sketch is an arrangement in the making, with two views of the inventory.
type sketch struct {
	Arrangement
	s     Snapshot
	bound map[JobID]nodes.Placement // what jobs with an open move are bound to
	named []bool                    // by job: its decision names a place, and is settled
	now   *nodes.Ledger             // everything used, and everything promised to others, on it
	soon  *nodes.Ledger             // as it will be once every move made its way
	room  []nodes.Load              // what ordinary jobs wait for and could have by then
}

func newSketch(s Snapshot) *sketch {
	k := &sketch{s: s, bound: s.bound(), named: make([]bool, len(s.Jobs))}
	k.Target, k.Unplaced = make(map[JobID]nodes.Placement, len(s.Jobs)), map[JobID]reason.Reason{}
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

// free reports whether the job's place is open to the decision.
func (k *sketch) free(j *Job) bool {
	_, moving := k.bound[j.ID]
	return !moving && movable(j)
}

// movable: what runs or waits, and what nobody holds.
func movable(j *Job) bool {
	return (j.Phase == Running && !j.UserHold || j.Phase == Held) && !j.Directive.Hold
}

// settle gives a job its place.
func (k *sketch) settle(j Job, p nodes.Placement) {
	k.soon.Credit(j.Load(k.Target[j.ID]))
	k.soon.Charge(j.Load(p))
	k.move(&j, p)
}

// move is settle, without the view that shows it done.
func (k *sketch) move(j *Job, p nodes.Placement) {
	promise(k.now, j, p, 1)
	k.Order = append(k.Order, j.ID)
	if len(p) > 0 {
		k.Target[j.ID] = p
		return
	}
	delete(k.Target, j.ID)
	if k.Park == nil {
		k.Park = map[JobID]bool{}
	}
	k.Park[j.ID] = true
}

// cross settles the decisions that name a place, or none where jobs may be
// stopped.
func (k *sketch) cross(a Allocation) {
	c := &crossing{s: k.s, bound: k.bound, soon: k.soon}
	for i := range k.s.Jobs {
		j := &k.s.Jobs[i]
		d, named := a[j.ID]
		stops := named && d.GPUs == 0 && (k.s.Limits.Preempt || d.Leaves) && j.Phase == Running
		if p := d.place(); stops || len(p) > 0 {
			c.want(i, p)
			k.named[i] = true
		}
	}
	if len(c.movers) == 0 {
		return
	}
	c.fit()
	c.sequence()
	for _, m := range c.order {
		k.move(m.job, m.to)
	}
	for i := range c.movers {
		if m := &c.movers[i]; m.state != went {
			k.refused(m)
		}
	}
}

// refused finds another way for a job that cannot have the place its decision
// names: one that gives back does so on its own nodes, one that starts, or whose
// place cannot be at all, takes what there is.
func (k *sketch) refused(m *mover) {
	j, want := *m.job, m.to.GPUs()
	switch {
	case want < j.GPUs():
		k.shrink(j, want)
	case want > j.GPUs() && (m.state == full || len(j.Place) == 0):
		k.named[m.index] = false
	case m.state == full:
		k.Unplaced[j.ID] = reason.NoRoomBeside{To: m.to}
	default:
		k.Unplaced[j.ID] = reason.Circle{To: m.to}
	}
}

// indices finds the nodes of a placement, in inventory order.
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

// place returns the job's placement at the wanted size, and when there is none
// the largest accepted size below it that would fit. A pin admits no other size.
func (k *sketch) place(inventory []nodes.Node, j Job, want int) (p nodes.Placement, fits int) {
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

// Request is the job as nodes sees it, its size aside.
func (j *Job) Request(l Limits) nodes.Request {
	return nodes.Request{
		ID: int64(j.ID), Partition: j.Partition, Uneven: j.Spec.AllowUneven || l.AnySplit(), Share: l.ShareNodes,
		CPUsPerGPU: j.Spec.CPUsPerGPU, MemPerGPUMB: j.Spec.MemPerGPUMB, Type: j.Spec.Type(), MaxNodes: j.MaxNodes,
	}
}

// freeNow is the inventory as one job finds it: everything used, and everything
// promised to others, on it.
func (k *sketch) freeNow(j Job) []nodes.Node {
	k.now.Credit(j.Load(j.Place))
	promise(k.now, &j, k.bound[j.ID], -1)
	return k.now.Nodes
}

// promise books what a job will take at a place beyond what it holds; sign -1
// takes the promise back.
func promise(l *nodes.Ledger, j *Job, at nodes.Placement, sign int) {
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
