package plan

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Reconcile compares the present state with the arrangement and returns which moves to open, in
// Plan.Open, and a reason for each job. A job with an open move gets no other. A move is opened
// only if its GPUs are free now: no job is stopped to wait for another.
//
// where MUST come from Arrange of the same snapshot and allocation. Intents of Plan.Open have no ID
// yet. Besides the moves that the arrangement asks for, Plan.Open has those of Snapshot.Due, which
// bypass the rules and the number of moves at once: the job needs them whatever is decided.
// Plan.Contend has waiting jobs that Slurm is to start by itself (contend).
func Reconcile(s elastic.Snapshot, a elastic.Allocation, where Arrangement) elastic.Plan {
	r := newReconciler(s, where)
	p := elastic.Plan{Target: where.Target, Reasons: make([]elastic.JobReason, len(s.Jobs))}
	opened := make([]*elastic.Intent, len(s.Jobs))
	for _, i := range r.turns() {
		j := &s.Jobs[i]
		in, why := r.reconcile(j, a[j.ID].Why)
		p.Reasons[i] = elastic.JobReason{Job: j.ID, Why: why, Promised: a[j.ID].Promised, Ends: a[j.ID].Ends, Due: a[j.ID].Due}
		opened[i] = in
	}
	for _, in := range opened {
		if in != nil {
			p.Open = append(p.Open, *in)
		}
	}
	noteContenders(&p, contend(&s, opened))
	p.Open = withDue(r.open, s.Due, p.Open)
	return p
}

// withDue adds the due moves to those of a plan, one move per job. A revival or clearing comes
// before the job's next start; a move of any kind includes a save.
// Where a job has several, the first of this order is kept. A job with an open move keeps that one.
func withDue(open map[elastic.JobID]elastic.Intent, due, planned []elastic.Intent) []elastic.Intent {
	saves := func(in elastic.Intent) bool { return in.Kind == elastic.Save || in.Kind == elastic.Park }
	back := slices.DeleteFunc(slices.Clone(due), saves)
	save := slices.DeleteFunc(slices.Clone(due), func(in elastic.Intent) bool { return !saves(in) })
	moved := map[elastic.JobID]bool{}
	return slices.DeleteFunc(slices.Concat(back, planned, save), func(in elastic.Intent) bool {
		_, moves := open[in.Job]
		another := moves || moved[in.Job]
		moved[in.Job] = true
		return another
	})
}

// reconciler goes through the jobs of a snapshot and counts what the moves that it opens take.
type reconciler struct {
	s      elastic.Snapshot
	where  Arrangement
	open   map[elastic.JobID]elastic.Intent
	now    *nodes.Ledger // GPUs used, bound to open moves, and kept for jobs that came first
	slots  *slots        // whether a user may have another move of a started job opened
	quota  *quota        // what the site's limits leave
	taking licensed      // licenses of jobs that start, or are between two sizes
}

// newReconciler counts what the open moves have taken already: GPUs of their targets, slots,
// licenses, and usage of caps. A target whose nodes Slurm chooses (Intent.AnyNodes) is not
// booked, since it is not known.
//
// Until an open move is over, the GPUs of both its places are taken: those that the job has, and
// those that it is to get.
func newReconciler(s elastic.Snapshot, where Arrangement) *reconciler {
	r := &reconciler{s: s, where: where, open: make(map[elastic.JobID]elastic.Intent, len(s.Intents)), now: nodes.NewLedger(s.Nodes)}
	r.quota = newQuota(&r.s, func(elastic.Cap) bool { return true })
	r.taking = licensesMoving(&s)
	r.slots = newSlots(&s)
	for _, in := range s.Intents {
		if _, twice := r.open[in.Job]; !twice {
			r.open[in.Job] = in
		}
	}
	for i := range s.Jobs {
		if in, ok := r.open[s.Jobs[i].ID]; ok && !in.AnyNodes {
			promise(r.now, &s.Jobs[i], in.Target, 1)
		}
	}
	return r
}

// turns returns the jobs' indices in the order in which their moves may take GPUs: those of the
// arrangement's order first.
func (r *reconciler) turns() []int {
	at := make(map[elastic.JobID]int, len(r.s.Jobs))
	for i := range r.s.Jobs {
		at[r.s.Jobs[i].ID] = i
	}
	out := make([]int, 0, len(r.s.Jobs))
	took := make([]bool, len(r.s.Jobs))
	for _, id := range r.where.Order {
		if i, ok := at[id]; ok && !took[i] {
			out, took[i] = append(out, i), true
		}
	}
	for i := range r.s.Jobs {
		if !took[i] {
			out = append(out, i)
		}
	}
	return out
}

// rule is one rule of Reconcile. The first rule whose condition holds decides, so their ORDER
// matters: what makes a move impossible comes BEFORE what only delays it, and what is kept for
// a delayed job is booked BEFORE the next job is judged.
// A rule that keeps the target for its job calls promise; one that does not leaves it to the next.
type rule struct {
	when func(*reconciler, *elastic.Job, nodes.Placement) bool
	then func(*reconciler, *elastic.Job, nodes.Placement, reason.Reason) (*elastic.Intent, reason.Reason)
}

var rules = []rule{
	// One move at a time per job.
	{inTransition, func(r *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
		return nil, r.open[j.ID].Cause
	}},
	// Jobs that may not be started or moved.
	{func(_ *reconciler, j *elastic.Job, _ nodes.Placement) bool {
		return j.Phase == elastic.Waiting && j.Directive.Hold
	}, stay(reason.HeldAside)},
	// Slurm would not start it, whatever GPUs it were given.
	{func(_ *reconciler, j *elastic.Job, _ nodes.Placement) bool { return j.WaitsOutside() != nil }, func(_ *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
		return nil, j.WaitsOutside()
	}},
	{func(_ *reconciler, j *elastic.Job, _ nodes.Placement) bool {
		return j.Phase == elastic.Running && (j.UserHold || j.Directive.Hold)
	}, stay(reason.HeldRunning)},
	{in(elastic.Completing), stay(reason.Cleaning)},
	{in(elastic.Suspended), stay(reason.LeftAlone)},
	{in(elastic.Queued), func(_ *reconciler, j *elastic.Job, _ nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
		return nil, reason.InSlurm{Reason: j.Reason}
	}},
	// Slurm refused it lately, and is not asked again so soon.
	// It comes BEFORE the rule for jobs that get nothing, so that the reason is Slurm's also then.
	{startRefused, waitsForSlurm},
	// Nothing to do.
	{func(r *reconciler, j *elastic.Job, t nodes.Placement) bool {
		return t.Equal(j.Place) || (len(t) == 0 && !r.where.Park[j.ID])
	}, stay(nil)},
	// Slurm would leave it pending there. Nothing is kept for it: what is given back may be of
	// no use to it.
	{beyond, func(r *reconciler, j *elastic.Job, t nodes.Placement, why reason.Reason) (*elastic.Intent, reason.Reason) {
		c, _ := r.quota.refuses(j, t)
		return nil, reason.Join(why, reason.NotNow{Because: refused(r.s, c, t)})
	}},
	{resizeRefused, staysForSlurm},
	// The GPUs are still held by a job that gives them back.
	{func(r *reconciler, j *elastic.Job, t nodes.Placement) bool { return !r.available(t, j) }, waitFor},
	{func(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
		return j.Phase == elastic.Waiting && r.s.Now.Before(j.Rest)
	}, rests},
	{licensesTaken, waitsForLicenses},
	{in(elastic.Waiting), open(elastic.Start)},
	// The number of jobs between two sizes at once is bounded.
	{tooMany, func(r *reconciler, j *elastic.Job, t nodes.Placement, _ reason.Reason) (*elastic.Intent, reason.Reason) {
		if _, own := r.slots.full(j.UID); own {
			return nil, reason.MovesOfUser
		}
		promise(r.now, j, t, 1) // its turn comes
		return nil, reason.MovesTaken
	}},
	{func(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
		return j.Phase == elastic.Running && r.where.Park[j.ID]
	}, open(elastic.Park)},
	{in(elastic.Running), open(elastic.Resize)},
}

// reconcile applies the first rule that holds for the job. It returns the intent to open, or
// nil, and the reason. It MUST be called in the order of turns, because rules book what later
// jobs may no longer take.
func (r *reconciler) reconcile(j *elastic.Job, why reason.Reason) (*elastic.Intent, reason.Reason) {
	if unplaced, ok := r.where.Unplaced[j.ID]; ok {
		why = unplaced
	}
	target := r.where.Target[j.ID]
	if j.Kept != nil && j.Phase == elastic.Waiting && len(target) == 0 {
		why = reason.Join(why, j.Kept)
	}
	for _, rule := range rules {
		if rule.when(r, j, target) {
			return rule.then(r, j, target, why)
		}
	}
	return nil, why
}

// available reports whether the target is free now for the job: its own GPUs count as free,
// those bound to others do not.
//
// A node that is no longer in the inventory makes it false. On a node where the job keeps as much as
// it has, or less, nothing has to be free. A job on several nodes may not join another one there,
// unless Limits allow that or it is there already.
func (r *reconciler) available(target nodes.Placement, j *elastic.Job) bool {
	req := j.Request(r.s.Limits)
	for _, share := range target {
		n := r.now.Node(share.Node)
		if n == nil {
			return false
		}
		have := j.Place.On(share.Node)
		left := without(j, *n)
		if share.GPUs > have && req.Room(left) < share.GPUs {
			return false
		}
		if len(target) > 1 && !req.Share && left.Spanning > 0 && (len(j.Place) < 2 || have == 0) {
			return false
		}
	}
	return true
}

// without returns a node as it would be without the job's GPUs, CPUs and memory.
func without(j *elastic.Job, n nodes.Node) nodes.Node {
	own, have := j.Load(nil), j.Place.On(n.Name)
	if have == 0 {
		return n
	}
	n.Book(own.Type, -min(have, n.Used))
	n.CPUsUsed = max(0, n.CPUsUsed-own.CPUs(have))
	n.MemUsedMB = max(0, n.MemUsedMB-int64(have)*own.MemPerGPUMB)
	return n
}

// waitFor leaves a job where it is until its GPUs have been given back. Jobs behind it in the
// arrangement's order do not take them.
func waitFor(r *reconciler, j *elastic.Job, t nodes.Placement, why reason.Reason) (*elastic.Intent, reason.Reason) {
	promise(r.now, j, t, 1)
	return nil, reason.Join(why, reason.WaitsReturn{To: t})
}

// rests keeps the GPUs of a job that Slurm may still stop or hold, because its run vanished or
// a call timed out.
func rests(r *reconciler, j *elastic.Job, t nodes.Placement, why reason.Reason) (*elastic.Intent, reason.Reason) {
	promise(r.now, j, t, 1)
	return nil, reason.Join(why, reason.StartsAfter{At: j.Rest})
}

// in holds for jobs in the phase.
func in(p elastic.Phase) func(*reconciler, *elastic.Job, nodes.Placement) bool {
	return func(_ *reconciler, j *elastic.Job, _ nodes.Placement) bool { return j.Phase == p }
}

// inTransition: the job has an open move.
func inTransition(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
	_, ok := r.open[j.ID]
	return ok
}

// beyond: a cap does not allow the target, given what was taken so far.
func beyond(r *reconciler, j *elastic.Job, t nodes.Placement) bool {
	_, refused := r.quota.refuses(j, t)
	return refused
}

// tooMany: the job's user may have no further move open.
func tooMany(r *reconciler, j *elastic.Job, _ nodes.Placement) bool {
	full, _ := r.slots.full(j.UID)
	return full
}

// stay opens nothing, for this reason or, if it is nil, for the decision's.
// Nothing is kept for the job.
func stay(own reason.Reason) func(*reconciler, *elastic.Job, nodes.Placement, reason.Reason) (*elastic.Intent, reason.Reason) {
	return func(_ *reconciler, _ *elastic.Job, _ nodes.Placement, why reason.Reason) (*elastic.Intent, reason.Reason) {
		if own != nil {
			return nil, own
		}
		return nil, why
	}
}

// open opens a move to the target and books all that it takes, so that later jobs in the order
// see it.
//
// The id of the request contains the time, so an answer to an earlier move to the same incarnation
// does not count for this one.
func open(kind elastic.Kind) func(*reconciler, *elastic.Job, nodes.Placement, reason.Reason) (*elastic.Intent, reason.Reason) {
	return func(r *reconciler, j *elastic.Job, target nodes.Placement, why reason.Reason) (*elastic.Intent, reason.Reason) {
		in := &elastic.Intent{
			Job: j.ID, Kind: kind, Step: elastic.Intended, To: j.Incarnation + 1, From: j.Place, Target: target,
			Restarts: j.Restarts, Cause: why, Opened: r.s.Now, Moved: r.s.Now,
			Request: elastic.RequestID(j.ID, j.Incarnation+1, r.s.Now, r.s.By),
		}
		if kind == elastic.Start {
			in.Step = elastic.Requeued // pending and held already: nothing to save
			in.PendingAt = r.s.Now
		}
		r.slots.opens(*in, j)
		r.taking.add(kind, j)
		r.quota.take(j, target)
		promise(r.now, j, target, 1) // the next jobs see what this one is bound to
		return in, why
	}
}
