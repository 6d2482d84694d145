package policy

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// timetable is which job has which GPUs until when, according to time limits. floor and held
// MUST agree: what is added to one or taken from it is added to or taken from the other.
// It is made for one answer, in newTimetable, and changed only by take; overtake.go works on copies. All times
// are latest ends by time limits, never predictions: a job may end earlier at any time.
type timetable struct {
	s     elastic.Snapshot
	where plan.Arrangement // of the policy's answer
	floor []nodes.Node     // with everything that holds GPUs now, or is bound to get them
	idle  []nodes.Node     // floor with what ordinary jobs wait for set aside
	held  []holding        // what is on floor
}

// holding is what one job has.
type holding struct {
	id   elastic.JobID // 0 = an ordinary job
	load nodes.Load
	ends time.Time // latest end; zero = not known
	gpus bool      // of an ordinary job: its CPUs and memory are not known
	// movable: a policy may move it, and take back all above its minimum, at any time.
	movable   bool
	least     int // its minimum
	partition string
}

// newTimetable returns the timetable of an answer. A job that moves holds its present GPUs and
// those of its target, because it has both until the move is complete.
// ORDER: sluice's jobs first, then ordinary ones, which get what is used beyond. Of pending ordinary jobs
// the first MostDemands are set aside in idle; they are not in floor.
func newTimetable(s elastic.Snapshot, a elastic.Allocation) *timetable {
	t := &timetable{s: s, where: plan.Arrange(s, a), floor: nodes.With(s.Nodes)}
	for i := range s.Jobs {
		j := roles.Subject{Job: s.Jobs[i]}
		target, ok := t.where.Target[j.ID]
		if !ok {
			target = s.Committed(j.Job)
		}
		more := roles.Beyond(target, j.Place)
		nodes.Charge(t.floor, j.Load(more))
		if at := slices.Concat(j.Place, more); len(at) > 0 {
			j.At, j.Now = s.Committed(j.Job), s.Committed(j.Job).GPUs()
			is, _ := j.Classify(&s)
			t.held = append(t.held, holding{
				id: j.ID, load: j.Load(at), ends: endOf(s.Now, &j.Job), movable: is == roles.Movable, least: j.Spec.Min, partition: j.Partition,
			})
		}
	}
	t.addOrdinary()
	wants := make([]nodes.Want, min(roles.MostDemands, len(s.Demands)))
	for i := range wants {
		wants[i] = s.Demands[i].Want()
	}
	t.idle, _ = nodes.Reserve(t.floor, wants)
	return t
}

// endOf returns when the job's time limit ends it; zero = it has no limit. For a job whose run
// has not started, it is as if it started now.
func endOf(now time.Time, j *elastic.Job) time.Time {
	switch {
	case j.TimeLeft > 0:
		return now.Add(j.TimeLeft)
	case j.TimeLimit > 0:
		return now.Add(j.TimeLimit)
	}
	return time.Time{}
}

// addOrdinary adds what ordinary jobs hold. What is used by unknown jobs never ends. squeue
// shows no split of GPUs: each node counts for as many as are used on it.
// A node where a job on several nodes runs may have more of its GPUs than an even split shows: what is left
// there counts for the last such job. Elsewhere it is used by a job that is not known.
func (t *timetable) addOrdinary() {
	left := make(map[string]int, len(t.floor))
	for _, n := range t.floor {
		left[n.Name] = n.Used
	}
	for _, h := range t.held {
		for _, share := range h.load.Place {
			left[share.Node] -= share.GPUs
		}
	}
	first, several := len(t.held), map[string]int{}
	for _, tenant := range t.s.Tenants {
		h := holding{load: nodes.Load{Type: tenant.Type}, ends: tenant.Ends, gpus: true}
		for _, share := range tenant.Place {
			n := max(0, min(share.GPUs, left[share.Node]))
			left[share.Node] -= n
			h.load.Place = append(h.load.Place, nodes.Share{Node: share.Node, GPUs: n})
			if len(tenant.Place) > 1 {
				several[share.Node] = len(t.held) - first
			}
		}
		t.held = append(t.held, h)
	}
	for _, n := range t.floor {
		more := nodes.Share{Node: n.Name, GPUs: left[n.Name]}
		if more.GPUs < 1 {
			continue
		}
		if k, uneven := several[n.Name]; uneven {
			h := &t.held[first+k]
			h.load.Place = append(h.load.Place, more)
		} else {
			t.held = append(t.held, holding{load: nodes.Load{Place: nodes.Placement{more}}, gpus: true})
		}
	}
}

// credit frees a holding in the inventory.
// It never books below 0. The inventory MUST be a copy: it is changed.
func (h holding) credit(inventory []nodes.Node) {
	if !h.gpus {
		nodes.Credit(inventory, h.load)
		return
	}
	for i := range inventory {
		for _, share := range h.load.Place {
			if share.Node == inventory[i].Name {
				inventory[i].Book(h.load.Type, -min(share.GPUs, inventory[i].Used))
			}
		}
	}
}

// at returns the inventory at a time: without the jobs whose limits have ended them by then.
func (t *timetable) at(when time.Time) []nodes.Node {
	out := nodes.With(t.floor)
	for _, h := range t.held {
		if !h.ends.IsZero() && !h.ends.After(when) {
			h.credit(out)
		}
	}
	return out
}

// shadow returns the head's shadow time. Its error is towards too early, which is safe: it
// assumes that jobs that can be resized give back all above their minimum and move anywhere,
// and that CPUs, memory and other jobs on several nodes block no job.
// Its time is zero where even the last known end of a job is not enough.
func (t *timetable) shadow(j *elastic.Job, within string) shadow {
	// Binary search: later moments have more free, so once the request could find its GPUs it still
	// could later.
	h := shadow{job: j, ask: t.ask(j, within), now: t.s.Now}
	moments := t.moments()
	k, _ := slices.BinarySearchFunc(moments, true, func(when time.Time, _ bool) int {
		if t.could(h.ask, when) {
			return 0
		}
		return -1
	})
	if k < len(moments) {
		h.at = moments[k]
	}
	return h
}

// moments are now and the times at which limits end jobs, ascending.
func (t *timetable) moments() []time.Time {
	out := []time.Time{t.s.Now}
	for _, held := range t.held {
		if held.ends.After(t.s.Now) {
			out = append(out, held.ends)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// could reports whether the request may find its GPUs at that time.
// All movable jobs count as gone from the inventory for the placement, and with what they may spare in the
// count: a necessary condition, not a sufficient one. Binary search needs it to be monotonic in time.
func (t *timetable) could(ask nodes.Request, when time.Time) bool {
	inventory := t.at(when)
	free := 0
	for _, n := range inventory {
		if n.InAny(ask.Partition) {
			free += n.FreeOf(ask.Type)
		}
	}
	for _, h := range t.held {
		if h.movable && (h.ends.IsZero() || h.ends.After(when)) {
			free += t.spare(h, ask.Partition)
			h.credit(inventory)
		}
	}
	if free < ask.GPUs { // the cheap test, which usually decides
		return false
	}
	for i := range inventory {
		inventory[i].CPUs, inventory[i].MemoryMB, inventory[i].Spanning = 0, 0, 0 // CPUs and memory of 0 are not checked
	}
	return fits(inventory, ask)
}

// spare returns how many GPUs a movable job may leave on the nodes of the partitions at most.
// That is all it has there, if it can run elsewhere; else what is above its minimum.
func (t *timetable) spare(h holding, partitions string) int {
	on, elsewhere := 0, false
	for i := range t.floor {
		n := &t.floor[i]
		switch {
		case !n.Usable:
		case n.InAny(partitions):
			on += h.load.Place.On(n.Name)
		default:
			elsewhere = elsewhere || n.InAny(h.partition)
		}
	}
	if elsewhere {
		return on
	}
	return min(on, max(0, h.load.Place.GPUs()-h.least))
}

// fits reports whether the request finds a place in the inventory.
func fits(inventory []nodes.Node, ask nodes.Request) bool {
	return len(nodes.Place(inventory, []nodes.Request{ask})[0].Placement) > 0
}

// mostOrders bounds the number of jobs on nodes that a head without a shadow time could use for
// which all sets of them are checked.
const mostOrders = 8

// fitsBeside reports whether the head finds its GPUs as early with the new job beside it. For a
// head without a shadow time it is not known which jobs end first: every set of them is
// checked, at most 2^mostOrders.
// With a shadow time only that moment is checked, since the head cannot start before it. Without one, a
// movable job that could give GPUs back there makes it false.
func (t *timetable) fitsBeside(h *shadow, new holding) bool {
	if !h.at.IsZero() {
		then := t.at(h.at)
		return fits(then, h.ask) && sameSplit(then, nodes.With(then, new.load), h.ask)
	}
	var ends []holding
	for _, held := range t.held {
		if !t.meet(h.ask.Partition, held.load.Place) {
			continue
		}
		if ends = append(ends, held); held.movable && t.spare(held, h.ask.Partition) > 0 {
			return false // it is not known which GPUs it gives back
		}
	}
	if len(ends) > mostOrders {
		return false
	}
	for set := range 1 << len(ends) {
		then := nodes.With(t.floor)
		for k, held := range ends {
			if set&(1<<k) != 0 {
				held.credit(then)
			}
		}
		if fits(then, h.ask) && !sameSplit(then, nodes.With(then, new.load), h.ask) {
			return false
		}
	}
	return true
}

// sameSplit reports whether the request gets the same split over nodes of the same types in
// both, so that a policy that would choose one chooses the other.
// A place on other nodes of the same type counts as the same: the head is as fast there.
func sameSplit(a, b []nodes.Node, ask nodes.Request) bool {
	type part struct {
		gpus int
		kind string
	}
	split := func(inventory []nodes.Node) (out []part) {
		for _, share := range nodes.Place(inventory, []nodes.Request{ask})[0].Placement {
			i := slices.IndexFunc(inventory, func(n nodes.Node) bool { return n.Name == share.Node })
			out = append(out, part{share.GPUs, inventory[i].Type})
		}
		return out
	}
	return slices.Equal(split(a), split(b))
}

// meet reports whether part of the place is on nodes of the partitions.
func (t *timetable) meet(partitions string, place nodes.Placement) bool {
	for i := range t.floor {
		if n := &t.floor[i]; place.On(n.Name) > 0 && n.InAny(partitions) {
			return true
		}
	}
	return false
}

// take books a job's GPUs.
// It MUST be called BEFORE the next job is tried (fill).
func (t *timetable) take(new holding) {
	nodes.Charge(t.floor, new.load)
	nodes.Charge(t.idle, new.load)
	t.held = append(t.held, new)
}

// holds reports whether each job gets the place that the policy intended, and backfilled ones
// theirs.
// One job that is placed otherwise makes it false: the shadow times would no longer be true.
func (t *timetable) holds(a elastic.Allocation) bool {
	again := plan.Arrange(t.s, a)
	for i := range t.s.Jobs {
		id := t.s.Jobs[i].ID
		want, had := t.where.Target[id]
		if !had {
			want = a[id].Place
		}
		if !again.Target[id].Equal(want) {
			return false
		}
	}
	return true
}
