package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// fewJobs is to how many jobs of each kind lendToFew offers what is idle.
const fewJobs = 64

// lendToFew is lend where many shares bind: the policy is asked about few jobs only, in a snapshot in which all
// others have what its answer gives them. In this ORDER:
//
//  1. What is idle, and what is reclaimed and nobody gets, is offered to jobs that wait, and to jobs that have
//     less than their share allows.
//  2. Jobs keep what is reclaimed from them and is still idle.
//  3. What is idle then is offered to jobs beyond their shares.
//
// So nothing is lent to the job from which it was reclaimed before others could take it, and where others do not
// want it the job is not resized. It returns false where only a question about all jobs keeps what the answer
// promises: a reservation depends on the ends of all jobs, an admission depends on what all will need, and the
// start of a further lane depends on all lanes of its user's sweeps.
func (b *bounds) lendToFew(a elastic.Allocation) (elastic.Allocation, bool) {
	l := &lending{bounds: b, idle: b.snap.Capacity() - used(a) - b.returning(a), bindings: b.snap.Bound()}
	if l.idle <= 0 {
		return a, true
	}
	for _, d := range a {
		if d.Reserves || d.Promised {
			return a, false
		}
	}
	if b.laneWaits(a) {
		return a, false
	}
	l.book(a)
	l.offer(slices.Concat(l.waiting(), l.below()), false)
	l.keep()
	l.offer(l.beyond(), true)
	out := l.named()
	return out, used(out) == used(a) || b.placed(out)
}

// laneWaits reports whether a lane waits in an answer that decides about it. Under a rigid policy lanes are jobs
// like others.
func (b *bounds) laneWaits(a elastic.Allocation) bool {
	return slices.ContainsFunc(b.jobs, func(j bound) bool {
		return j.Spec.Sweep != "" && j.role == roles.Waiting && !j.rigid && a[j.ID].GPUs == 0
	})
}

// lending is an answer to which is added what is lent.
// Invariants: at is where each job is under out, idle is what out leaves (less what is returning), and
// both ledgers have all of at booked. Only put may change them together.
type lending struct {
	*bounds
	out  elastic.Allocation
	at   map[elastic.JobID]nodes.Placement // of each job under out
	idle int
	soon *nodes.Ledger // with all jobs where they are under out, and what open moves are bound to
	free *nodes.Ledger // and with what jobs have until they have moved there
	// bindings are what jobs with open moves are bound to.
	bindings map[elastic.JobID]nodes.Placement
}

// book fills the ledgers for an answer.
// until is what jobs give back: it is free under soon and still taken under free.
func (l *lending) book(a elastic.Allocation) {
	where := plan.Arrange(l.snap, a)
	l.out, l.at = maps.Clone(a), make(map[elastic.JobID]nodes.Placement, len(l.jobs))
	l.soon = nodes.NewLedger(l.snap.Foreign())
	var until []nodes.Load
	for i := range l.jobs {
		j := &l.jobs[i].Job
		at := where.Target[j.ID]
		if target, moves := l.bindings[j.ID]; moves {
			at = j.Place
			l.soon.Charge(j.Load(roles.Beyond(target, at)))
		}
		l.at[j.ID] = at
		l.soon.Charge(j.Load(at))
		until = append(until, j.Load(roles.Beyond(j.Place, at)))
	}
	l.free = l.soon.Clone()
	l.free.Charge(until...)
}

// put decides about one job. What it has until it has moved stays booked in free.
// In free only what the job takes beyond what it has, or was given before, is booked in addition; in
// soon its old place is replaced by the new one.
func (l *lending) put(j *elastic.Job, d elastic.Decision, at nodes.Placement) {
	was := l.at[j.ID]
	l.idle -= d.GPUs - l.out[j.ID].GPUs
	l.free.Charge(j.Load(roles.Beyond(roles.Beyond(at, was), roles.Beyond(j.Place, was))))
	l.soon.Credit(j.Load(was))
	l.soon.Charge(j.Load(at))
	l.out[j.ID], l.at[j.ID] = d, at
}

// waiting returns the jobs that wait, by index: first those that the policy was asked about, which none may
// overtake, then those beyond their shares, in the order of the shares, scavengers last.
func (l *lending) waiting() (of []int) {
	waits := func(j *bound) bool { return j.role == roles.Waiting && l.out[j.ID].GPUs == 0 }
	for i := range l.jobs {
		if j := &l.jobs[i]; !j.out && waits(j) {
			of = append(of, i)
		}
	}
	return append(of, l.beyondShares(func(j *bound) bool { return waits(j) && roles.LeastOf(&j.Job) <= l.idle })...)
}

// below returns the jobs that run and have less than their share allows.
// Jobs whose size a user or a share has pinned are not among them; at most fewJobs are returned.
func (l *lending) below() (of []int) {
	for i := range l.jobs {
		j := &l.jobs[i]
		if j.role == roles.Movable && !j.out && !j.rigid && !j.gives && j.pin == 0 && len(j.sizes) > 0 && l.out[j.ID].GPUs < j.sizes[len(j.sizes)-1] && len(of) < fewJobs {
			of = append(of, i)
		}
	}
	return of
}

// beyond returns the jobs that get GPUs and would have more without their share.
func (l *lending) beyond() []int {
	return l.beyondShares(func(j *bound) bool {
		return l.out[j.ID].GPUs > 0 && (j.role == roles.Waiting || j.role == roles.Movable && !j.rigid && j.Job.Directive.Pin == 0)
	})
}

// beyondShares returns at most fewJobs jobs, by index, that would have more without their share and
// for which is holds: in the order of Snapshot.Caps, jobs of scavengers after all others.
func (l *lending) beyondShares(is func(*bound) bool) (of []int) {
	for _, scavenger := range []bool{false, true} {
		for k := range l.snap.Caps {
			if !l.snap.Caps[k].Reclaims {
				continue
			}
			for _, i := range l.of[k] {
				if j := &l.jobs[i]; j.Scavenger == scavenger && j.asked > l.out[j.ID].GPUs && is(j) && len(of) < fewJobs {
					of = append(of, i)
				}
			}
		}
	}
	return of
}

// offer asks about some jobs, by index. The answer counts if more GPUs are used.
//
// A job gets its part of the answer only if that is at once a gain and free where it counts: a
// waiting job may wait for others to give back (soon), a running one takes only what is free now
// (free), since it would hold both places until then. So no circle of jobs that wait for each other
// comes about. The small question has no shares (limits), and its answer is for these jobs only.
func (l *lending) offer(to []int, now bool) {
	if l.idle <= 0 || len(to) == 0 {
		return
	}
	s := l.leftover(to, now)
	answer := capped(s, question{decide: l.beside, rigid: l.rigid})
	where := plan.Arrange(s, answer)
	for _, i := range to {
		j := &l.jobs[i]
		d, target := answer[j.ID], where.Target[j.ID]
		from := l.free
		if len(j.Place) == 0 { // it may wait for others: none of them waits for it
			from = l.soon
		}
		if d.GPUs > l.out[j.ID].GPUs && target.GPUs() == d.GPUs && isFree(from, roles.Beyond(target, l.at[j.ID]), j.Spec.Type()) {
			l.put(&j.Job, d, target)
		}
	}
}

// leftover returns the snapshot in which some jobs, by index, divide what is idle; with now, only what is idle
// before any job moves.
// A job that the answer moves already is shown where it will be, at no further cost (Price 0) and
// without a cooldown: what it grows by comes with the same move.
func (l *lending) leftover(to []int, now bool) elastic.Snapshot {
	s := l.snap
	inventory := l.soon.Clone()
	if now {
		inventory = l.free.Clone()
	}
	asked := make(map[int]bool, len(to))
	for _, i := range to {
		asked[i] = true
	}
	s.Jobs = nil
	for i := range l.jobs {
		j := l.jobs[i].Job
		at := l.at[j.ID]
		target, moves := l.bindings[j.ID]
		switch {
		case moves:
			inventory.Credit(j.Load(roles.Beyond(target, at)))
			s.Jobs = append(s.Jobs, j)
		case !asked[i]:
		case len(j.Place) == 0:
			inventory.Credit(j.Load(at))
			s.Jobs = append(s.Jobs, j)
		case !at.Equal(j.Place): // it moves in any case
			j.Place, j.Price, j.Moved = at, elastic.Price{}, time.Time{}
			fallthrough
		default:
			j.Spec = between(j.Spec, at.GPUs(), at.GPUs()+l.idle)
			s.Jobs = append(s.Jobs, j)
		}
	}
	s.Nodes, s.Caps = inventory.Nodes, l.limits(asked)
	return s
}

// between returns the spec without the sizes below least: GPUs are lent, not taken from one job for another. An open
// range ends at most, since policies list its sizes.
func between(spec elastic.Spec, least, most int) elastic.Spec {
	if !spec.Allows(least, least) {
		return spec
	}
	below := func(size int) bool { return size < least }
	spec.Min, spec.Sizes = least, slices.DeleteFunc(slices.Clone(spec.Sizes), below)
	spec.Profile = slices.DeleteFunc(slices.Clone(spec.Profile), below)
	if spec.Max == 0 {
		spec.Max = most
	}
	return spec
}

// limits returns the site's limits, within which all but some jobs have what they have under out.
// Others then counts the jobs that are not asked about. Those with open moves are jobs of the small
// snapshot, and count there.
func (l *lending) limits(except map[int]bool) []elastic.Cap {
	var out []elastic.Cap
	for k := range l.snap.Caps {
		c := l.snap.Caps[k]
		if c.Reclaims {
			continue
		}
		if c.Shared() {
			for _, i := range l.of[k] {
				if j := &l.jobs[i].Job; !except[i] && len(l.at[j.ID]) > 0 && l.bindings[j.ID] == nil {
					c.Others += l.snap.Taken(c, j, l.at)
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// keep leaves jobs what is reclaimed from them and still idle, in the order of the shares.
// So a job is not resized for GPUs that no other job takes. It keeps all that it has, or shrinks as
// decided: a size between would be a resize too.
func (l *lending) keep() {
	for k := range l.snap.Caps {
		for _, i := range l.of[k] {
			j := &l.jobs[i]
			more := j.now - l.out[j.ID].GPUs
			if l.snap.Caps[k].Reclaims && j.beyond && more > 0 && more <= l.idle && isFree(l.soon, roles.Beyond(j.Place, l.at[j.ID]), j.Spec.Type()) {
				l.put(&j.Job, elastic.Decision{GPUs: j.now, Why: reason.Keeps{GPUs: j.now, Because: reason.NoMoreWithin{Limit: j.why}}}, j.Place)
			}
		}
	}
}

// isFree reports whether GPUs at a place are free, of a type if there is one.
// A node that the inventory lacks has nothing free. An empty place is free.
func isFree(inventory *nodes.Ledger, at nodes.Placement, kind string) bool {
	return !slices.ContainsFunc(at, func(share nodes.Share) bool {
		n := inventory.Node(share.Node)
		return n == nil || n.FreeOf(kind) < share.GPUs
	})
}

// named returns the answer in which each change names its place: so all of it is arranged as its parts were.
func (l *lending) named() elastic.Allocation {
	for i := range l.jobs {
		j := &l.jobs[i]
		d := l.out[j.ID]
		if at := l.at[j.ID]; d.GPUs > 0 && j.role != roles.Fixed && !at.Equal(j.Place) {
			d.Place = at
			l.out[j.ID] = d
		}
	}
	return l.out
}

// placed reports whether every job finds its GPUs beside all others.
// It is the last check of lendToFew: the parts of its answer were placed one after the other, and
// plan.Arrange places them all at once.
func (b *bounds) placed(a elastic.Allocation) bool {
	where := plan.Arrange(b.snap, a)
	for i := range b.jobs {
		j := &b.jobs[i]
		if n := a[j.ID].GPUs; j.role != roles.Fixed && n != j.now && where.Target[j.ID].GPUs() != n {
			return false
		}
	}
	return true
}
