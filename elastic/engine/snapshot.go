package engine

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/slurm"
)

// picture makes a snapshot of what was seen. What the snapshot needs is folded before it, and what
// it says of jobs is noted after it, so that making it changes nothing.
func (e *Engine) picture(v view, now time.Time) elastic.Snapshot {
	e.prepare(now)
	s, doubted := e.snapshot(v, now)
	note(e.byID, &s, doubted)
	return s
}

// prepare brings up to date what a snapshot reads and does not work out itself. It comes BEFORE
// each one, since an order that was taken between two effects may have brought a job.
func (e *Engine) prepare(now time.Time) {
	closeArrays(e.byID)
	for _, js := range e.ordered() {
		if !js.lives() {
			continue
		}
		e.learnt.Fit(e.keysOf(js.rec), now)
		delete(js.tells.problem, "constraint")
		if why := eligible.Unreadable(js.shown.slurm.Constraint); why != nil {
			js.tells.problem["constraint"] = say.Reason(why, now)
		}
	}
}

// note remembers of a snapshot when the next cycle is due, and the curves that were made for it.
func note(known known, s *elastic.Snapshot, doubted map[elastic.JobID]lazyCurve) {
	for i := range s.Jobs {
		if js := known[s.Jobs[i].ID]; js != nil {
			js.placing.blocked, js.placing.refused.Idle = s.Jobs[i].Blocked, s.Jobs[i].Refused.Idle
		}
	}
	for id, lazy := range doubted {
		known[id].learnt.lazy = lazy
	}
}

// snapshot gathers everything the decision may depend on. It changes nothing: the same state
// and the same view give the same snapshot. doubted are curves to be kept for the next one.
func (e *Engine) snapshot(v view, now time.Time) (s elastic.Snapshot, doubted map[elastic.JobID]lazyCurve) {
	s = elastic.Snapshot{Now: now, By: e.cfg.By, Before: e.last.Now, Away: e.away, Began: e.began, Limits: e.cfg.Limits}
	s.Nodes = eligible.Returned(eligible.Fit(eligible.Inventory(v.jobs, v.nodes), e.health.Findings(e.cfg.Health)), e.lost, settling, now)
	s.Jobs = slices.Grow(s.Jobs, living(e.jobs))
	for _, js := range e.ordered() {
		if js.lives() {
			s.Jobs = append(s.Jobs, e.jobOf(js, now))
		}
	}
	s.Intents = slices.Clone(e.open)
	s = s.Lent()
	s.Due = slices.Concat(e.revivals(now), e.clearings(now), e.savings(now))
	eligible.Ordinary(&s, ordinary(e.byID, v.jobs), v.nodes, &e.last)
	eligible.PerNode(e.limits.Limits, s.Nodes)
	look := e.lookFor(&s, v)
	for i := range s.Jobs {
		if own, known := look.Own[s.Jobs[i].ID]; known {
			own.Refused = eligible.Refused(own.Refused, &s.Jobs[i], &s)
			look.Own[s.Jobs[i].ID] = own
		}
	}
	s.Caps = look.Caps(&s)
	eligible.Spread(&s)
	look.Choose(&s)
	doubted = expect(e.byID, &s)
	look.Restrict(&s)
	return s, doubted
}

// ordinary are the jobs that are not sluice's.
func ordinary(known known, jobs []slurm.Job) (out []slurm.Job) {
	for _, sj := range jobs {
		if js := known[elastic.JobID(sj.ID)]; js == nil || !js.shown.seen || js.shown.disown {
			out = append(out, sj)
		}
	}
	return out
}

// lookFor is what decides what the jobs of a snapshot may have.
func (e *Engine) lookFor(s *elastic.Snapshot, v view) *eligible.Look {
	l := &eligible.Look{
		Jobs: v.jobs, Nodes: v.nodes, Own: make(map[elastic.JobID]eligible.Job, len(s.Jobs)), Site: e.limits.Site,
		Limited: e.cfg.Limiter != nil, Edge: e.cfg.Edge, Open: e.open, Arrays: eligible.Arriving(tasks(e.byID)), Ahead: e.ahead,
	}
	for i := range s.Jobs {
		if js := e.byID[s.Jobs[i].ID]; js != nil {
			l.Own[s.Jobs[i].ID] = e.eligibleJob(js, s.Now)
		}
	}
	return l
}

// eligibleJob is a job as far as it decides what the job may have.
func (e *Engine) eligibleJob(js *jobState, now time.Time) eligible.Job {
	return eligible.Job{
		Slurm: &js.shown.slurm, Counts: js.shown.seen && js.lives(), Partitions: js.rec.Partition, Types: js.rec.Tag.Spec.Types, UID: js.rec.UID,
		Array: js.rec.Tag.Spec.Array, Ran: !js.rec.FirstRun.IsZero(), Unread: js.mail.unreadSince(now), Refused: js.placing.refused, Holders: js.placing.holders, Lead: e.lead(js),
	}
}

// tasks are all jobs that are known, as tasks of their arrays.
func tasks(known known) iter.Seq[eligible.Task] {
	return func(yield func(eligible.Task) bool) {
		for _, js := range known {
			if !yield(eligible.Task{ID: js.rec.ID, UID: js.rec.UID, Array: js.rec.Tag.Spec.Array, Submitted: js.rec.Submitted, Lives: js.lives()}) {
				return
			}
		}
	}
}

// closeArrays notes of open arrays that all of their tasks are there. It outlasts them.
func closeArrays(known known) {
	for _, id := range eligible.Arriving(tasks(known)).Complete() {
		js := known[id]
		js.rec.Tag.Spec.Array.Open, js.told, js.dirty = false, true, true
	}
}

// lives reports whether decisions are about the job.
func (js *jobState) lives() bool { return js.rec.Ended.IsZero() && !js.shown.disown }

func living(jobs map[string]*jobState) (n int) {
	for _, js := range jobs {
		if js.lives() {
			n++
		}
	}
	return n
}

// expect settles what is expected of jobs where nothing is said of the kind of node, as far
// as the idleness of their GPUs does not speak against it. It returns the curves that it made.
func expect(known known, s *elastic.Snapshot) map[elastic.JobID]lazyCurve {
	made := map[elastic.JobID]lazyCurve{}
	s.Expect()
	for i := range s.Jobs {
		if js := known[s.Jobs[i].ID]; js != nil {
			lazy, fresh := js.learnt.doubted(s.Jobs[i].Curve)
			if s.Jobs[i].Curve = lazy.curve; fresh {
				made[s.Jobs[i].ID] = lazy
			}
		}
	}
	return made
}

// deafRest is how many grace periods a job that did not answer is left alone, and
// deafMost how often that doubles at most.
const deafRest, deafMost = 10, 6

// jobOf is one job as decisions see it. Its curve has been fitted (see prepare).
func (e *Engine) jobOf(js *jobState, now time.Time) elastic.Job {
	r, sj := js.rec, js.shown.slurm
	j := elastic.Job{
		ID: r.ID, Name: r.Name, User: r.User, UID: r.UID, Partition: e.limits.OpenTo(sj, r.Partition).Partition, Spec: r.Tag.Spec,
		Directive: r.Tag.Directive, Incarnation: r.Tag.Incarnation,
		Phase: phaseOf(sj), State: string(sj.State), Reason: sj.Reason, Restarts: sj.Restarts, Eligible: sj.Eligible, PassAsked: js.placing.passAsked,
		Submitted: r.Submitted, Begun: r.FirstRun, Started: sj.Start, TimeLeft: sj.TimeLeft, TimeLimit: sj.TimeLimit,
		Speaks: r.Speaks || r.Tag.Spec.Signal != "", Deaf: r.Deaf, Done: r.Done,
		Curve: e.learnt.Curve(e.keysOf(r)), MIG: js.learnt.gauged.mig, OnUnfitGPU: js.learnt.ailing, Price: r.Price, Moved: r.Moved, Rest: later(js.placing.rest, js.placing.unheard),
		Asked: cmp.Or(r.Tag.Directive.Pin, r.Tag.Spec.Min), Attained: js.runs.attained(now), Reached: js.runs.course.reached, Stretch: e.lengths.stretchOf(r, now),
	}
	j.Billing = sj.Billing
	j.Promised, j.Licenses = r.Promised, slurm.LicenseNames(sj.Licenses)
	m := e.limits.Memory[sj.ID]
	j.Memory = elastic.Memory{PerNodeMB: m.PerNode, PerCPUMB: m.PerCPU, PerGPUMB: m.PerGPU}
	// A deaf job is asked again after a rest: disks get room, users repair. The rest
	// doubles each time, or one that saves for longer than it lasts would do nothing else.
	if rest := deafRest * e.cfg.Limits.Grace << min(max(0, r.Deaf-e.cfg.Limits.DeafAfter), deafMost); r.Deaf >= e.cfg.Limits.DeafAfter && now.Sub(r.Moved) > rest {
		j.Deaf = e.cfg.Limits.DeafAfter - 1
	}
	if j.Unproven = !e.proven(js); j.Unproven && j.Phase == elastic.Held && j.Directive.Pin == 0 {
		j.Grown, j.Spec = j.Spec, j.Spec.AtMinimum()
	}
	j.MaxNodes = j.Spec.Nodes
	j.Lingers, j.HeldBefore = e.open.lingers(js), js.shown.waited
	j.UserHold = j.Phase == elastic.Running && sj.Held && !js.placing.hold
	// While a job is being cleaned away Slurm counts its GPUs as free already,
	// so they must not be taken off what others use.
	if sj.OnNodes() && !sj.Completing {
		j.Place = r.Place
	}
	if j.Phase == elastic.Held && sj.Reason == eligible.HeldByAdmin && !r.Barred {
		j.Directive.Hold = true
	}
	j.Spoke, j.Unread, j.Quiet = js.mail.runner.word.State != "", js.mail.unreadSince(now), js.mail.quietSince(now)
	if js.mail.runner.ok {
		j.Heartbeat, j.Resumed, j.RunnerOf = js.mail.runner.word.Beat, js.mail.runner.word.Resumed, js.mail.runner.word.Incarnation
		j.Choosing, j.RetryAt = js.mail.runner.chooses(), js.mail.retryAt(now)
		j.Rhythm = time.Duration(js.mail.runner.word.Rhythm * float64(time.Second))
		j.SavesEvery = time.Duration(js.mail.runner.word.Every * float64(time.Second))
		j.SaveCost = time.Duration(js.mail.runner.word.Cost * float64(time.Second))
		if a := js.mail.runner.word.Answer; a != nil {
			j.Saved = elastic.Saved{Request: a.Request, Checkpoint: a.Checkpoint, Error: a.Error, Committed: a.Committed}
		}
	}
	return j
}

// chooses reports whether a runner spoke that has yet to find the checkpoint to start from.
func (w runnerWord) chooses() bool {
	return w.ok && w.word.State == checkpoint.Starting && w.word.Resumed == ""
}

func phaseOf(sj slurm.Job) elastic.Phase {
	switch {
	case sj.Completing:
		return elastic.Completing
	case sj.State == slurm.Running:
		return elastic.Running
	case sj.State == slurm.Suspended:
		return elastic.Suspended
	case sj.State == slurm.Pending && sj.Held:
		return elastic.Held
	case sj.State == slurm.Pending:
		return elastic.Queued
	}
	return elastic.Ended
}
