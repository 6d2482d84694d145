package plan

import (
	"maps"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Arrangement is the place of each job under an allocation.
// The caller owns the maps and the list; placements may be those of the snapshot or the decision.
type Arrangement struct {
	// Target holds every job that has or gets GPUs. A job that keeps its size
	// keeps its place, unless its decision names another.
	// A job with an open move is where that move binds it, whatever is decided.
	Target map[elastic.JobID]nodes.Placement
	// Park holds the running jobs that are to be stopped, to wait again.
	// It is nil if there are none. They have no Target.
	Park map[elastic.JobID]bool
	// Unplaced holds why a job could not get its size or its place.
	// A job in it may still have a Target: the place it has.
	Unplaced map[elastic.JobID]reason.Reason
	// Order lists the jobs that move, each AFTER those whose GPUs it may have to wait for.
	// Reconcile keeps what a job of the list waits for from the jobs behind it; so each gets
	// its GPUs, however long the moves take.
	Order []elastic.JobID
}

// Arrange places an allocation. A decision that names a place gets exactly that, if it fits
// beside the targets of all others (moveSet); else a place is searched as for decisions without
// one. Jobs that shrink stay within their own nodes, so that no job waits for another to
// shrink. Jobs that start or grow take GPUs that are free now if possible, else GPUs that open
// moves will free, large jobs first (nodes.Place: best fit). If some find no place in that
// order, those are tried first, up to 4 more times, and the arrangement with the fewest jobs
// short of their size is taken.
//
// Running jobs whose named places would make them wait for each other in a circle, and jobs
// that would wait for these, keep their present place this time. If Limits.Preempt is set a
// decision of 0 GPUs stops a running job; otherwise it has no effect on a job that has GPUs.
//
// A job without a decision, or with one of 0 GPUs that has no effect, keeps its place. Jobs that are
// held, and those with an open move, do too. Each job that starts or grows is placed up to 5 times.
func Arrange(s elastic.Snapshot, a elastic.Allocation) Arrangement {
	s = within(s, a)
	start := newSketch(s)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if d := a[j.ID]; len(place(d)) == 0 && d.GPUs > 0 && d.GPUs < j.GPUs() && start.free(j) && !away(s, j, d) {
			start.shrink(*j, d.GPUs)
		}
	}
	start.cross(a)
	start.reserve()
	var grow []elastic.Job
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if d := a[j.ID]; !start.named[i] && (d.GPUs > j.GPUs() || d.GPUs > 0 && away(s, j, d)) && start.free(j) {
			grow = append(grow, *j)
		}
	}
	return start.growth(grow, a)
}

// within returns the snapshot in which jobs are in the partitions that their decisions name.
// The caller's jobs are not changed: they are copied at the first difference.
func within(s elastic.Snapshot, a elastic.Allocation) elastic.Snapshot {
	cloned := false
	for i := range s.Jobs {
		d := a[s.Jobs[i].ID]
		if d.Within == "" || d.Within == s.Jobs[i].Partition {
			continue
		}
		if !cloned {
			s.Jobs, cloned = slices.Clone(s.Jobs), true
		}
		s.Jobs[i].Partition = d.Within
	}
	return s
}

// away reports whether the job runs in none of the partitions its decision names.
func away(s elastic.Snapshot, j *elastic.Job, d elastic.Decision) bool {
	return d.Within != "" && len(j.Place) > 0 && !s.Holds(d.Within, j.Place)
}

// place returns the place that the decision names; empty if there is none, or one of another
// size.
func place(d elastic.Decision) nodes.Placement {
	if d.GPUs > 0 && d.Place.GPUs() == d.GPUs {
		return d.Place
	}
	return nil
}

// growth places the jobs that start or grow, in the best of a few orders.
// It ends early if the order would be the same again, or all have their size.
func (k *sketch) growth(grow []elastic.Job, a elastic.Allocation) Arrangement {
	if len(grow) == 0 {
		return k.Arrangement
	}
	slices.SortStableFunc(grow, func(x, y elastic.Job) int { return a[y.ID].GPUs - a[x.ID].GPUs })
	best, fewest := k.grown(grow, a)
	for short, tries := fewest, 0; tries < 4 && len(short) > 0; tries++ {
		next := first(short, grow)
		if slices.EqualFunc(next, grow, func(x, y elastic.Job) bool { return x.ID == y.ID }) {
			break
		}
		grow = next
		var again *sketch
		again, short = k.grown(grow, a)
		if len(short) < len(fewest) {
			best, fewest = again, short
		}
	}
	return best.Arrangement
}

// first returns the jobs with the named ones in front, both in their order.
func first(named []elastic.JobID, jobs []elastic.Job) []elastic.Job {
	var front, rest []elastic.Job
	for _, j := range jobs {
		if slices.Contains(named, j.ID) {
			front = append(front, j)
		} else {
			rest = append(rest, j)
		}
	}
	return append(front, rest...)
}

// reserve sets aside what ordinary jobs wait for, as far as it will be free.
// It comes AFTER shrink and cross, whose GPUs are free for ordinary jobs too.
func (k *sketch) reserve() {
	if len(k.s.Demands) == 0 {
		return
	}
	wants := make([]nodes.Want, len(k.s.Demands))
	for i, d := range k.s.Demands {
		wants[i] = d.Want()
	}
	after, _ := nodes.Reserve(k.soon.Nodes, wants)
	k.room = nodes.Taken(k.soon.Nodes, after)
}

// grown places the jobs in this order on a copy of the sketch, and returns those that did not
// get their size.
// A job that gets less than its size counts as short, also where it got a place.
func (k *sketch) grown(order []elastic.Job, a elastic.Allocation) (*sketch, []elastic.JobID) {
	c := *k
	c.now, c.soon = k.now.Clone(), k.soon.Clone()
	c.Target, c.Unplaced, c.Order = maps.Clone(k.Target), maps.Clone(k.Unplaced), slices.Clone(k.Order)
	var short []elastic.JobID
	for _, j := range order {
		want := a[j.ID].GPUs
		p := c.find(j, want)
		if len(p) > 0 {
			c.settle(j, p)
		} else {
			c.Unplaced[j.ID] = reason.NoPlace{GPUs: want}
		}
		if p.GPUs() != want {
			short = append(short, j.ID)
		}
	}
	return &c, short
}

// shrink chooses the nodes that a job keeps among those it has. Idle GPUs there count as free:
// Slurm fills an uneven split greedily from them.
func (k *sketch) shrink(j elastic.Job, want int) {
	var own []nodes.Node
	k.now.Credit(j.Load(j.Place))
	for _, i := range k.indices(j.Place) {
		n := k.now.Nodes[i]
		if !n.Usable { // draining: the job keeps its GPUs there and gets no more
			n.Usable, n.Used = true, max(n.Used, n.GPUs-j.Place.On(n.Name))
		}
		own = append(own, n)
	}
	k.now.Charge(j.Load(j.Place))
	p, fits := k.place(own, j, want)
	if p == nil && fits > 0 {
		p, _ = k.place(own, j, fits)
	}
	if p != nil {
		k.settle(j, p)
		return
	}
	k.Unplaced[j.ID] = reason.CannotGiveBack{GPUs: j.GPUs() - want}
}

// find returns a place for a job that starts or grows; empty if there is none.
// Its own GPUs count as free. The full size on GPUs that are free later is preferred to less of what
// is free now only for a job that runs.
func (k *sketch) find(j elastic.Job, want int) nodes.Placement {
	own := j.Load(j.Place)
	k.now.Credit(own)
	k.soon.Credit(own)
	defer k.now.Charge(own)
	defer k.soon.Charge(own)
	views := k.views(j)
	less := make([]int, len(views))
	for i, view := range views {
		p, fits := k.place(view, j, want)
		if p != nil {
			return p
		}
		if fits <= j.GPUs() {
			continue
		}
		// A job that starts takes fewer GPUs at once rather than wait for more; a running one
		// moves only once.
		if less[i] = fits; len(j.Place) == 0 {
			p, _ := k.place(view, j, fits)
			return p
		}
	}
	for i, view := range views {
		if less[i] > 0 {
			p, _ := k.place(view, j, less[i])
			return p
		}
	}
	return nil
}

// views lists the inventories that a job may take from, best first. What ordinary jobs wait for
// is set aside; only a job that starts may take it if there is nothing else, because it is its
// turn in the queue.
func (k *sketch) views(j elastic.Job) [][]nodes.Node {
	if len(k.room) == 0 {
		return [][]nodes.Node{k.now.Nodes, k.soon.Nodes}
	}
	views := [][]nodes.Node{nodes.With(k.now.Nodes, k.room...), nodes.With(k.soon.Nodes, k.room...)}
	if len(j.Place) == 0 {
		views = append(views, k.now.Nodes, k.soon.Nodes)
	}
	return views
}

// Elsewhere returns a placement of exactly this many GPUs for a job with an open move, on GPUs
// that are free now and to which no other move is bound; empty if there is none. GPUs that the
// job's own move is bound to count as free.
func Elsewhere(s elastic.Snapshot, j elastic.Job, gpus int) nodes.Placement {
	k := newSketch(s)
	p, _ := k.place(k.freeNow(j), j, gpus)
	return p
}
