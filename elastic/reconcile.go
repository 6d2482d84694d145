package elastic

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Reconcile compares what is with what should be and says which moves to open.
// A job with an open move is left to it. A move is opened only when its GPUs are
// free now: nobody is stopped to wait for anybody.
func Reconcile(s Snapshot, a Allocation, where Arrangement) Plan {
	d := newDocket(s, where)
	p := Plan{Target: where.Target, Reasons: make([]JobReason, len(s.Jobs))}
	opened := make([]*Intent, len(s.Jobs))
	for _, i := range d.turns() {
		j := &s.Jobs[i]
		in, why := d.reconcile(j, a[j.ID].Why)
		p.Reasons[i] = JobReason{Job: j.ID, Why: why, Promised: a[j.ID].Promised, Ends: a[j.ID].Ends, Due: a[j.ID].Due}
		opened[i] = in
	}
	for _, in := range opened {
		if in != nil {
			p.Open = append(p.Open, *in)
		}
	}
	p.Open = withDue(d.open, s.Due, p.Open)
	return p
}

// withDue adds what is due to the moves of a plan, one move a job. What brings a job
// back goes before its next start; a move of any kind saves, too.
func withDue(open map[JobID]Intent, due, planned []Intent) []Intent {
	saves := func(in Intent) bool { return in.Kind == Save || in.Kind == Park }
	back := slices.DeleteFunc(slices.Clone(due), saves)
	save := slices.DeleteFunc(slices.Clone(due), func(in Intent) bool { return !saves(in) })
	moved := map[JobID]bool{}
	return slices.DeleteFunc(slices.Concat(back, planned, save), func(in Intent) bool {
		_, moves := open[in.Job]
		another := moves || moved[in.Job]
		moved[in.Job] = true
		return another
	})
}

// docket is what Reconcile goes through, job by job.
type docket struct {
	s      Snapshot
	where  Arrangement
	open   map[JobID]Intent
	now    *nodes.Ledger // used, promised to open moves, and kept for those who came first
	slots  *slots        // who may open another move of a started job
	quota  *quota        // what the site's limits leave
	taking licensed      // licenses of jobs that start, or are between two sizes
}

func newDocket(s Snapshot, where Arrangement) *docket {
	d := &docket{s: s, where: where, open: make(map[JobID]Intent, len(s.Intents)), now: nodes.NewLedger(s.Nodes)}
	d.quota = newQuota(&d.s, func(Cap) bool { return true })
	d.taking = licensesMoving(&s)
	d.slots = newSlots(&s)
	for _, in := range s.Intents {
		if _, twice := d.open[in.Job]; !twice {
			d.open[in.Job] = in
		}
	}
	for i := range s.Jobs {
		if in, ok := d.open[s.Jobs[i].ID]; ok && !in.AnyNodes {
			promise(d.now, &s.Jobs[i], in.Target, 1)
		}
	}
	return d
}

// turns lists the jobs, by their index, in the order in which their moves may take GPUs: those of
// the arrangement first, in its order.
func (d *docket) turns() []int {
	at := make(map[JobID]int, len(d.s.Jobs))
	for i := range d.s.Jobs {
		at[d.s.Jobs[i].ID] = i
	}
	out := make([]int, 0, len(d.s.Jobs))
	took := make([]bool, len(d.s.Jobs))
	for _, id := range d.where.Order {
		if i, ok := at[id]; ok && !took[i] {
			out, took[i] = append(out, i), true
		}
	}
	for i := range d.s.Jobs {
		if !took[i] {
			out = append(out, i)
		}
	}
	return out
}

// verdict is one rule of reconcile: the first that applies speaks.
type verdict struct {
	when func(*docket, *Job, nodes.Placement) bool
	then func(*docket, *Job, nodes.Placement, reason.Reason) (*Intent, reason.Reason)
}

var verdicts = []verdict{
	// One move at a time.
	{inTransition, func(d *docket, j *Job, _ nodes.Placement, _ reason.Reason) (*Intent, reason.Reason) {
		return nil, d.open[j.ID].Cause
	}},
	// What nobody may start or move.
	{func(_ *docket, j *Job, _ nodes.Placement) bool { return j.Phase == Held && j.Directive.Hold }, stay(reason.HeldAside)},
	// Slurm would not start it, whatever GPUs it were given.
	{func(_ *docket, j *Job, _ nodes.Placement) bool { return j.WaitsOutside() != nil }, func(_ *docket, j *Job, _ nodes.Placement, _ reason.Reason) (*Intent, reason.Reason) {
		return nil, j.WaitsOutside()
	}},
	{func(_ *docket, j *Job, _ nodes.Placement) bool {
		return j.Phase == Running && (j.UserHold || j.Directive.Hold)
	}, stay(reason.HeldRunning)},
	{in(Completing), stay(reason.Cleaning)},
	{in(Suspended), stay(reason.LeftAlone)},
	{in(Queued), func(_ *docket, j *Job, _ nodes.Placement, _ reason.Reason) (*Intent, reason.Reason) {
		return nil, reason.InSlurm{Reason: j.Reason}
	}},
	// Slurm would not take it, and is not asked again so soon.
	{startRefused, waitsForSlurm},
	// Nothing to do.
	{func(d *docket, j *Job, t nodes.Placement) bool {
		return t.Equal(j.Place) || (len(t) == 0 && !d.where.Park[j.ID])
	}, stay(nil)},
	// Slurm would leave it pending there. Nothing is kept for it: what is given back
	// need not be of use to it.
	{beyond, func(d *docket, j *Job, t nodes.Placement, why reason.Reason) (*Intent, reason.Reason) {
		c, _ := d.quota.refuses(j, t)
		return nil, reason.Join(why, reason.NotNow{Because: d.s.refused(c, t)})
	}},
	{resizeRefused, staysForSlurm},
	// The GPUs are still with somebody who is giving them back.
	{func(d *docket, j *Job, t nodes.Placement) bool { return !d.available(t, j) }, waitFor},
	{func(d *docket, j *Job, _ nodes.Placement) bool { return j.Phase == Held && d.s.Now.Before(j.Rest) }, rests},
	{licensesTaken, waitsForLicenses},
	{in(Held), open(Start)},
	// Bounded harm: so many jobs between two sizes at once.
	{tooMany, func(d *docket, j *Job, t nodes.Placement, _ reason.Reason) (*Intent, reason.Reason) {
		if _, own := d.slots.full(j.UID); own {
			return nil, reason.MovesOfUser
		}
		promise(d.now, j, t, 1) // its turn comes
		return nil, reason.MovesTaken
	}},
	{func(d *docket, j *Job, _ nodes.Placement) bool { return j.Phase == Running && d.where.Park[j.ID] }, open(Park)},
	{in(Running), open(Resize)},
}

func (d *docket) reconcile(j *Job, why reason.Reason) (*Intent, reason.Reason) {
	if unplaced, ok := d.where.Unplaced[j.ID]; ok {
		why = unplaced
	}
	target := d.where.Target[j.ID]
	if j.Kept != nil && j.Phase == Held && len(target) == 0 {
		why = reason.Join(why, j.Kept)
	}
	for _, v := range verdicts {
		if v.when(d, j, target) {
			return v.then(d, j, target, why)
		}
	}
	return nil, why
}

// available reports whether the job finds the target free now, its own GPUs
// counted in and what others were promised left to them.
func (d *docket) available(target nodes.Placement, j *Job) bool {
	r := j.Request(d.s.Limits)
	for _, share := range target {
		n := d.now.Node(share.Node)
		if n == nil {
			return false
		}
		have := j.Place.On(share.Node)
		left := j.gone(*n)
		if share.GPUs > have && r.Room(left) < share.GPUs {
			return false
		}
		if len(target) > 1 && !r.Share && left.Spanning > 0 && (len(j.Place) < 2 || have == 0) {
			return false
		}
	}
	return true
}

// gone is a node as it would be without the job's GPUs, CPUs and memory.
func (j *Job) gone(n nodes.Node) nodes.Node {
	own, have := j.Load(nil), j.Place.On(n.Name)
	if have == 0 {
		return n
	}
	n.Book(own.Type, -min(have, n.Used))
	n.CPUsUsed = max(0, n.CPUsUsed-own.CPUs(have))
	n.MemUsedMB = max(0, n.MemUsedMB-int64(have)*own.MemPerGPUMB)
	return n
}

// waitFor leaves a job where it is until its GPUs have been given back. Those
// behind it in the arrangement's order leave them to it.
func waitFor(d *docket, j *Job, t nodes.Placement, why reason.Reason) (*Intent, reason.Reason) {
	promise(d.now, j, t, 1)
	return nil, reason.Join(why, reason.WaitsReturn{To: t})
}

// rests keeps the GPUs of a job that Slurm may still stop or hold, for a run that vanished
// or a call that was not answered.
func rests(d *docket, j *Job, t nodes.Placement, why reason.Reason) (*Intent, reason.Reason) {
	promise(d.now, j, t, 1)
	return nil, reason.Join(why, reason.StartsAfter{At: j.Rest})
}

func in(p Phase) func(*docket, *Job, nodes.Placement) bool {
	return func(_ *docket, j *Job, _ nodes.Placement) bool { return j.Phase == p }
}

func inTransition(d *docket, j *Job, _ nodes.Placement) bool {
	_, ok := d.open[j.ID]
	return ok
}

func beyond(d *docket, j *Job, t nodes.Placement) bool {
	_, refused := d.quota.refuses(j, t)
	return refused
}

func tooMany(d *docket, j *Job, _ nodes.Placement) bool {
	full, _ := d.slots.full(j.UID)
	return full
}

func stay(own reason.Reason) func(*docket, *Job, nodes.Placement, reason.Reason) (*Intent, reason.Reason) {
	return func(_ *docket, _ *Job, _ nodes.Placement, why reason.Reason) (*Intent, reason.Reason) {
		if own != nil {
			return nil, own
		}
		return nil, why
	}
}

func open(kind Kind) func(*docket, *Job, nodes.Placement, reason.Reason) (*Intent, reason.Reason) {
	return func(d *docket, j *Job, target nodes.Placement, why reason.Reason) (*Intent, reason.Reason) {
		in := &Intent{
			Job: j.ID, Kind: kind, Step: Intended, To: j.Incarnation + 1, From: j.Place, Target: target,
			Restarts: j.Restarts, Cause: why, Opened: d.s.Now, Moved: d.s.Now,
			Request: RequestID(j.ID, j.Incarnation+1, d.s.Now, d.s.By),
		}
		if kind == Start {
			in.Step = Requeued // pending and held already: nothing to save
			in.PendingAt = d.s.Now
		}
		d.slots.opens(*in, j)
		d.taking.add(kind, j)
		d.quota.take(j, target)
		promise(d.now, j, target, 1) // the next jobs see what this one was promised
		return in, why
	}
}
