package track

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// Snapshot returns the input of a policy. State is changed before (prepare) and after (note) the
// snapshot is built; build itself changes nothing. It may be called several times a cycle with the
// same now: time is booked once. It MUST be called again BEFORE a decision if an effect changed the
// state. The snapshot shares v's slices and the curves with the State, which do not change them.
func (st *State) Snapshot(v observe.Look, now time.Time) elastic.Snapshot {
	st.prepare(now)
	s, doubted := st.build(v, now)
	if err := st.divide(&s, st.Rules.QOS); err != nil && st.Shares.undivided != err.Error() {
		st.Shares.undivided = err.Error()
		st.Tell(now, 0, "problem", "the GPUs cannot be divided by shares: "+err.Error(), event.Fields{Problem: event.ProblemShares})
	}
	note(st.ByID, &s, doubted)
	return s
}

// prepare updates the state that build reads. It runs BEFORE each snapshot, since a request handled
// between two effects may have added a job.
func (st *State) prepare(now time.Time) {
	closeArrays(st.ByID)
	st.Shares.book(st.halfLife(), now)
	if st.Site.Known || !st.HasLimiter { // the half-life is known
		st.Shares.recall(now)
	}
	for _, js := range st.Ordered() {
		if !js.lives() {
			continue
		}
		js.Learnt.Renew(&js.Rec.Tag.Spec, st.Learnt.Fit(st.KeysOf(js.Rec), now))
		delete(js.Tells.Problem, "constraint")
		if why := eligible.Unreadable(js.Shown.Slurm.Constraint); why != nil {
			js.Tells.Problem["constraint"] = say.Reason(why, now)
		}
	}
}

// note stores what a snapshot found out about jobs for the next cycle: why they are blocked,
// whether GPUs are idle for them, and the curves that were made.
func note(known Known, s *elastic.Snapshot, doubted map[elastic.JobID]lazyCurve) {
	for i := range s.Jobs {
		if js := known[s.Jobs[i].ID]; js != nil {
			js.Placing.blocked, js.Placing.Refused.Idle = s.Jobs[i].Blocked, s.Jobs[i].Refused.Idle
		}
	}
	for id, lazy := range doubted {
		known[id].Learnt.Lazy = lazy
	}
}

// build returns everything that a decision may depend on. It changes nothing: equal state and
// observation give an equal snapshot. doubted are curves to keep for the next one. The stages of
// package eligible come in the order that its documentation gives. Curves are lowered after Choose,
// as the partition says on which kind of node a job is expected, and before Restrict, whose
// partitions depend on the time.
func (st *State) build(v observe.Look, now time.Time) (s elastic.Snapshot, doubted map[elastic.JobID]lazyCurve) {
	s = elastic.Snapshot{Now: now, By: st.Rules.By, Before: st.Last.Now, Away: st.away, Began: st.Began, Limits: st.Rules.Limits}
	s.Nodes = eligible.Returned(eligible.Fit(eligible.Inventory(v.Jobs, v.Nodes), st.Health.Findings(st.Rules.Health)), st.Lost, settling, now)
	if st.Rules.Sweeps != nil {
		s.Sweeps = st.Rules.Sweeps()
	}
	s.Jobs = slices.Grow(s.Jobs, living(st.Jobs))
	for _, js := range st.Ordered() {
		if js.lives() {
			s.Jobs = append(s.Jobs, st.JobOf(js, now))
		}
	}
	s.Intents = slices.Clone(st.Open)
	s = s.Lent()
	s.Due = slices.Concat(st.revivals(now), st.clearings(now), st.savesDue(now))
	eligible.Ordinary(&s, ordinary(st.ByID, v.Jobs), contending(st.ByID, v.Jobs, st.Open, now), v.Nodes, &st.Last)
	eligible.PerNode(st.Site.Limits, s.Nodes)
	look := st.LookFor(&s, v)
	look.Order(&s)
	for i := range s.Jobs {
		if own, known := look.Own[s.Jobs[i].ID]; known {
			own.Refused = eligible.Refused(own.Refused, &s.Jobs[i], &s)
			look.Own[s.Jobs[i].ID] = own
		}
	}
	s.Caps = look.Caps(&s)
	eligible.Spread(&s)
	look.Choose(&s)
	doubted = expect(st.ByID, &s)
	look.Restrict(&s)
	barNeedless(&s, Needless(st, v.Jobs))
	return s, doubted
}

// ordinary returns the jobs that sluice does not manage.
func ordinary(known Known, jobs []slurm.Job) (out []slurm.Job) {
	out = slices.Grow(out, len(jobs)) // nearly all on most clusters, up to 100,000
	for _, sj := range jobs {
		if js := known[elastic.JobID(sj.ID)]; js == nil || !js.Shown.Seen || js.Shown.Disown {
			out = append(out, sj)
		}
	}
	return out
}

// contending returns the jobs of sluice that wait in Slurm, which may start them at any time.
func contending(known Known, jobs []slurm.Job, open Moves, now time.Time) (out []slurm.Job) {
	for _, sj := range jobs {
		id := elastic.JobID(sj.ID)
		if js := known[id]; js != nil && js.Shown.Seen && !js.Shown.Disown && !open.has(id) && PhaseOf(sj, now) == elastic.Queued {
			out = append(out, sj)
		}
	}
	return out
}

// LookFor returns the input of package eligible for the jobs of a snapshot.
func (st *State) LookFor(s *elastic.Snapshot, v observe.Look) *eligible.Look {
	l := &eligible.Look{
		Jobs: v.Jobs, Nodes: v.Nodes, Own: make(map[elastic.JobID]eligible.Job, len(s.Jobs)), Site: st.Site,
		Limited: st.HasLimiter, Edge: st.Rules.Edge, Open: st.Open, Arrays: eligible.Arriving(tasks(st.ByID)), Ahead: st.ahead,
	}
	for i := range s.Jobs {
		if js := st.ByID[s.Jobs[i].ID]; js != nil {
			l.Own[s.Jobs[i].ID] = st.Rules.eligibleJob(js, s.Now)
		}
	}
	return l
}

// eligibleJob returns what package eligible needs of a job.
func (ru *Rules) eligibleJob(js *Job, now time.Time) eligible.Job {
	return eligible.Job{
		Slurm: &js.Shown.Slurm, Counts: js.Shown.Seen && js.lives(), Partitions: js.Rec.Partition, Types: js.Rec.Tag.Spec.Types, Owner: js.Rec.Owner.UID,
		Array: js.Rec.Tag.Spec.Array, Ran: !js.Rec.FirstRun.IsZero(), Begin: beginOf(js.Rec.Tag, js.Shown.Slurm), Unread: js.Mail.unreadSince(now), Refused: js.Placing.Refused, Holders: js.Placing.holders, Lead: ru.lead(js),
	}
}

// tasks yields all known jobs as array tasks.
func tasks(known Known) iter.Seq[eligible.Task] {
	return func(yield func(eligible.Task) bool) {
		for _, js := range known {
			if !yield(eligible.Task{ID: js.Rec.ID, Owner: js.Rec.Owner.UID, Array: js.Rec.Tag.Spec.Array, Submitted: js.Rec.Submitted, Lives: js.lives()}) {
				return
			}
		}
	}
}

// closeArrays marks an open array as complete once all of its tasks are known. The mark is stored
// in the first task's comment, so that it holds after tasks have ended.
func closeArrays(known Known) {
	for _, id := range eligible.Arriving(tasks(known)).Complete() {
		js := known[id]
		js.Rec.Tag.Spec.Array.Open, js.PendingTag, js.Dirty = false, true, true
	}
}

// lives reports whether the job is in snapshots: it has not ended and has its tag.
func (js *Job) lives() bool { return js.Rec.Ended.IsZero() && !js.Shown.Disown }

func living(jobs map[string]*Job) (n int) {
	for _, js := range jobs {
		if js.lives() {
			n++
		}
	}
	return n
}

// expect sets each job's curve for an unspecified kind of node, lowered where its GPUs were idle
// (Doubted). It returns the curves that it made.
func expect(known Known, s *elastic.Snapshot) map[elastic.JobID]lazyCurve {
	made := map[elastic.JobID]lazyCurve{}
	s.Expect()
	for i := range s.Jobs {
		if js := known[s.Jobs[i].ID]; js != nil {
			lazy, fresh := js.Learnt.Doubted(s.Jobs[i].Curve)
			if s.Jobs[i].Curve = lazy.Curve; fresh {
				made[s.Jobs[i].ID] = lazy
			}
		}
	}
	return made
}

// deafRest is the number of grace periods for which a job that did not answer is not asked again,
// and deafMost how often that doubles at most.
const deafRest, deafMost = 10, 6

// JobOf returns one job as policies see it. Its curve MUST have been fitted BEFORE (see prepare).
// Place is empty unless the job holds nodes and is not completing. A job without proof has one size
// while it waits (decision 35); Grown keeps what it may have later.
func (st *State) JobOf(js *Job, now time.Time) elastic.Job {
	r, sj := js.Rec, js.Shown.Slurm
	j := elastic.Job{
		ID: r.ID, Name: r.Name, User: r.Owner.User, UID: r.Owner.UID, Account: st.Shares.accountOf(r.Owner.User, sj.Account), QOS: sj.QOS, Partition: st.Site.OpenTo(sj, r.Partition).Partition, Spec: r.Tag.Spec,
		Directive: r.Tag.Directive, Incarnation: r.Tag.Incarnation,
		Phase: PhaseOf(sj, now), State: string(sj.State), Reason: sj.Reason, Restarts: sj.Restarts, Eligible: sj.Eligible, PassAsked: js.Placing.PassAsked,
		Submitted: r.Submitted, Begun: r.FirstRun, Started: sj.Start, TimeLeft: sj.TimeLeft, TimeLimit: sj.TimeLimit,
		Speaks: r.Speaks || r.Tag.Spec.Signal != "", Deaf: r.Deaf, Done: r.Done,
		Curve: js.Learnt.curveOf(&js.Rec.Tag.Spec, st.Learnt.Curve(st.KeysOf(r))), MIG: js.Learnt.Gauged.mig, OnUnfitGPU: js.Learnt.onUnfitGPU, Price: r.Price, Moved: r.Moved, Rest: Later(js.Placing.rest, js.Placing.uncertainUntil),
		Asked: cmp.Or(r.Tag.Directive.Pin, r.Tag.Spec.Min), Attained: js.Runs.attained(now), Reached: js.Runs.course.reached, Stretch: st.Lengths.stretchOf(r, now),
	}
	j.Billing, j.Scavenger = sj.Billing, st.Rules.QOS[sj.QOS].Scavenger
	j.Promised, j.Licenses = r.Promised, slurm.LicenseNames(sj.Licenses)
	m := st.Site.Memory[sj.ID]
	j.Memory = elastic.Memory{PerNodeMB: m.PerNode, PerCPUMB: m.PerCPU, PerGPUMB: m.PerGPU}
	// A job that does not answer is asked again after a delay: a full disk may have space, or
	// its user may have repaired it. The delay doubles each time, since a save that takes
	// longer than the grace period would otherwise be repeated all the time.
	if rest := deafRest * st.Rules.Limits.Grace << min(max(0, r.Deaf-st.Rules.Limits.DeafAfter), deafMost); r.Deaf >= st.Rules.Limits.DeafAfter && now.Sub(r.Moved) > rest {
		j.Deaf = st.Rules.Limits.DeafAfter - 1
	}
	if j.Unproven = !st.proven(js); j.Unproven && j.Phase == elastic.Waiting && j.Directive.Pin == 0 {
		j.Grown, j.Spec = j.Spec, j.Spec.AtMinimum()
	}
	j.MaxNodes = j.Spec.Nodes
	j.Lingers = lingers(js.Shown.Slurm)
	j.Uncleared = j.Lingers && !js.rescue.cleared.clearDue(js.Shown.Slurm.Restarts, now)
	j.UserHold = (j.Phase == elastic.Running || j.Phase == elastic.Waiting) && HeldByPerson(sj, r.Barred)
	// Slurm already counts the GPUs of a completing job as free, so they must not be
	// subtracted from the GPUs in use.
	if sj.OnNodes() && !sj.Completing {
		j.Place = r.Place
	}
	j.Directive.Hold = j.Directive.Hold || j.Phase == elastic.Waiting && j.UserHold
	js.Mail.report(&j, now)
	j.Unusable = js.rescue.unusable.times
	return j
}

// report writes into the job what its runner reported.
func (m *mail) report(j *elastic.Job, now time.Time) {
	word := m.runner.word
	j.Spoke, j.Unread, j.Quiet = word.State != "", m.unreadSince(now), m.quietSince(now)
	if !m.runner.ok {
		return
	}
	j.Heartbeat, j.Resumed, j.RunnerOf = word.Beat, word.Resumed, word.Incarnation
	j.Choosing, j.RetryAt = m.runner.chooses(), m.retryAt(now)
	j.Rhythm = time.Duration(word.Rhythm * float64(time.Second))
	j.SavesEvery = time.Duration(word.Every * float64(time.Second))
	j.SaveCost = time.Duration(word.Cost * float64(time.Second))
	if a := word.Answer; a != nil {
		j.Saved = elastic.Saved{Request: a.Request, Checkpoint: a.Checkpoint, Error: a.Error, Committed: a.Committed}
	}
}

// chooses reports whether the runner has started and not selected a checkpoint yet.
func (w runnerWord) chooses() bool {
	return w.ok && w.word.State == checkpoint.Starting && w.word.Resumed == ""
}

// PhaseOf returns a job's phase from its Slurm state at that time.
//
//	Completing              Slurm cleans up, whatever the state is
//	Running, Suspended      as in Slurm
//	Waiting                 pending, held or with a begin time ahead: sluice decides when it starts
//	Queued                  pending otherwise: Slurm may start it at any time
//	Ended                   any other state
//
// The phase of a pending job depends on the time: Waiting becomes Queued when the begin time comes.
func PhaseOf(sj slurm.Job, now time.Time) elastic.Phase {
	switch {
	case sj.Completing:
		return elastic.Completing
	case sj.State == slurm.Running:
		return elastic.Running
	case sj.State == slurm.Suspended:
		return elastic.Suspended
	case sj.State == slurm.Pending && (sj.Held || sj.Deferred(now)):
		return elastic.Waiting
	case sj.State == slurm.Pending:
		return elastic.Queued
	}
	return elastic.Ended
}
