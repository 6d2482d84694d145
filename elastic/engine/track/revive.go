package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// mayRequeue reports whether a failed run is requeued because the job is most likely not to blame:
// sluice stopped it because it was stranded, or for a move of which the store knows nothing, slurmctld
// forgot a requeue, the kill request for an earlier run reached it (see owed), as it was killed soon
// after the job or its node was lost, or its runner was killed. Each run is requeued at most once.
//
//	sluice stopped it because it was stranded            requeued
//	it waited, saved, for a stop (stopUnrecorded)         requeued, once by each daemon
//	its runner reported that it exited by itself         not requeued
//	slurmctld forgot a stop that it had carried out      requeued
//	a signal killed the runner                           requeued, if killedRunner
//	less than owed after its run or its node was lost    requeued
func (cl *Cluster) mayRequeue(js *Job, now time.Time) bool {
	if js.Shown.Slurm.State != slurm.Failed || js.Shown.Slurm.Completing || js.Shown.Disown || js.rescue.revived > js.Shown.Slurm.Restarts {
		return false
	}
	if js.rescue.stranded.stopped(js.Mail.runner, js.Shown.Slurm) || js.rescue.stopUnrecorded(js.Mail.runner, js.Shown.Slurm) {
		return true
	}
	if !js.Mail.killed() {
		return false
	}
	if js.rescue.forgot(js.Shown.Slurm) || js.killedRunner() || now.Before(js.Placing.rest.Add(owed-settling)) {
		return true
	}
	return slices.ContainsFunc(js.Rec.Place.Nodes(), func(node string) bool {
		at, ok := cl.Lost[node]
		return ok && now.Before(at.Add(owed))
	})
}

// forgot reports whether slurmctld returned to a state from before a restart of the job that it had
// shown: it had stopped the failed run to requeue the job, and forgot that.
func (r *rescue) forgot(sj slurm.Job) bool { return r.restarts > sj.Restarts }

// signalled is a shell's exit code less the number of the signal that ended a process.
const signalled = 128

// killed reports whether the last run did not exit by itself: its runner reported no exit, or one
// by a signal. It is false if no status was ever read.
func (m *mail) killed() bool {
	exit := m.runner.word.Exit
	if !m.runner.ok {
		return m.runner.word.State != ""
	}
	return exit == nil || exit.Signal != "" || exit.Code > signalled
}

// struck counts how often in a row a job's runner was killed in runs that resumed from the same
// checkpoint.
type struck struct {
	times int
	from  string
}

// mostStruck is how often in a row a job is requeued without a newer checkpoint.
const mostStruck = 2

// killedRunner reports whether a signal killed the job's runner and the job is requeued for it. The
// kernel does that when memory runs out; then no process is left to restart the script. A
// job that has shown that it can save is requeued as after a node failure, unless --retries=0.
func (js *Job) killedRunner() bool {
	word, signal := js.Mail.runner.word, js.Shown.Slurm.ExitSignal
	if !js.Mail.runner.ok || word.Exit != nil || word.State == checkpoint.Exited || word.Final || signal == 0 || signal == slurm.LaunchIO {
		return false
	}
	return js.Rec.Speaks && js.Rec.Tag.Spec.Again && (js.rescue.struck.from != word.Resumed || js.rescue.struck.times < mostStruck)
}

// revivals returns the moves that requeue the jobs for which mayRequeue is true. They are due, as
// parks and saves are: no policy is asked. The job is not ended while one is due or open.
func (st *State) revivals(now time.Time) []elastic.Intent {
	var out []elastic.Intent
	for _, js := range st.Ordered() {
		if !js.Shown.Seen || !js.Rec.Ended.IsZero() || st.Open.has(js.Rec.ID) || !st.mayRequeue(js, now) {
			continue
		}
		var why reason.Reason = reason.OwedToLost
		switch {
		case js.rescue.stranded.stopped(js.Mail.runner, js.Shown.Slurm), js.rescue.forgot(js.Shown.Slurm):
			why = reason.StopForgotten
		case js.killedRunner():
			why = reason.RunnerKilled{Signal: js.Shown.Slurm.ExitSignal}
		case js.rescue.stopUnrecorded(js.Mail.runner, js.Shown.Slurm):
			why = reason.StopForgotten
		}
		out = append(out, st.Rules.bringBack(js, elastic.Revival, why, now))
	}
	return out
}

// A clearing that had no effect is tried again, each further time clearingRest later, at most
// clearingMost: the job cannot start before, and no other job may have its GPUs.
const (
	clearingRest = 5 * time.Minute
	clearingMost = time.Hour
)

// cleared counts the moves that were to clear a job of the same run.
type cleared struct {
	of    int // the run, counted from 1
	times int
	last  time.Time
}

// lingers reports whether Slurm still counts the pending job on the nodes of its last run. A job that
// an administrator holds is not touched.
func lingers(sj slurm.Job) bool { return sj.Lingers() && sj.Reason != eligible.HeldByAdmin }

// clearDue reports whether a Clearing move of a job that lingers is due.
func (c cleared) clearDue(restarts int, now time.Time) bool {
	return c.of != restarts+1 || !now.Before(c.last.Add(min(time.Duration(c.times)*clearingRest, clearingMost)))
}

// clearings returns the moves that clear stale allocations of waiting jobs.
func (st *State) clearings(now time.Time) []elastic.Intent {
	var out []elastic.Intent
	for _, js := range st.Ordered() {
		if !js.Shown.Seen || js.Shown.Disown || st.Open.has(js.Rec.ID) || PhaseOf(js.Shown.Slurm, now) != elastic.Waiting || !lingers(js.Shown.Slurm) || !js.rescue.cleared.clearDue(js.Shown.Slurm.Restarts, now) {
			continue
		}
		out = append(out, st.Rules.bringBack(js, elastic.Clearing, reason.CountedStill{Nodes: js.Shown.Slurm.Nodes}, now))
	}
	return out
}

// bringBack returns a move that requeues the job. It begins at step Verified, since there is nothing
// to save.
func (ru *Rules) bringBack(js *Job, kind elastic.Kind, cause reason.Reason, now time.Time) elastic.Intent {
	in := ru.Intend(js, kind, cause, now)
	in.Step = elastic.Verified
	return in
}

// Intend returns a new move of the job that no policy decided, at step Intended. Its ID is 0 until
// the journal assigns one. The request's name contains the daemon's, so that an answer to an earlier
// daemon's request is not taken for its own.
func (ru *Rules) Intend(js *Job, kind elastic.Kind, cause reason.Reason, now time.Time) elastic.Intent {
	to := js.Rec.Tag.Incarnation + 1
	return elastic.Intent{
		Job: js.Rec.ID, Kind: kind, Step: elastic.Intended, To: to, Restarts: js.Shown.Slurm.Restarts,
		From: js.Rec.Place, Cause: cause, Opened: now, Moved: now,
		Request: elastic.RequestID(js.Rec.ID, to, now, ru.By),
	}
}

// Opened applies a newly recorded move to the state. The journal MUST have recorded it BEFORE. It
// counts the attempt, so that a move that is closed without effect is not opened again at once.
func (cl *Cluster) Opened(js *Job, kind elastic.Kind, now time.Time) {
	switch kind {
	case elastic.Revival:
		js.rescue.revived = js.Shown.Slurm.Restarts + 1
		js.rescue.believed = js.rescue.believed || js.rescue.stopUnrecorded(js.Mail.runner, js.Shown.Slurm)
		if js.killedRunner() {
			if from := js.Mail.runner.word.Resumed; from != js.rescue.struck.from {
				js.rescue.struck = struck{from: from}
			}
			js.rescue.struck.times++
		}
	case elastic.Save, elastic.Park:
		js.Placing.saving = now
	case elastic.Clearing:
		if c, run := &js.rescue.cleared, js.Shown.Slurm.Restarts+1; c.of != run {
			*c = cleared{of: run}
		}
		js.rescue.cleared.times++
		js.rescue.cleared.last = now
		for _, node := range js.Shown.Slurm.Nodes { // perhaps for less time than lies between two looks
			cl.Lost[node] = now
		}
	}
}

// has reports whether the job has an open move.
func (open Moves) has(id elastic.JobID) bool {
	return slices.ContainsFunc(open, func(in elastic.Intent) bool { return in.Job == id })
}
