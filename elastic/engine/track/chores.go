package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// Chores returns the actions that are due for a job without an open move. If one fails, the ones
// after it MUST NOT be carried out. The first case that applies counts; what else is due follows in
// later cycles. Some cases note that the action was given out, so that Chores MUST be called once a
// cycle for each job, and its actions carried out. What a user ordered is carried out BEFORE it is
// written into the comment, so that a crash in between repeats it.
func (st *State) Chores(js *Job, now time.Time) []elastic.Action {
	phase, id, later := PhaseOf(js.Shown.Slurm, now), js.Rec.ID, deferral(&js.Rec, st.Rules.Limits.Abandon, now)
	switch {
	case js.Shown.Disown:
		return nil
	// An older sluice held it.
	case olderHold(js.Shown.Slurm, js.Rec.Tag):
		return []elastic.Action{later, elastic.Release{Job: id}}
	case holdDue(js.Shown.Slurm, js.Rec.Tag.Directive, js.Shown.commented):
		return []elastic.Action{elastic.Hold{Job: id}, annotation(&js.Rec)}
	case releaseDue(js):
		return []elastic.Action{elastic.Release{Job: id}, annotation(&js.Rec)}
	// Released through Slurm, so its user no longer wants it held.
	case releasedInSlurm(js):
		js.Rec.Tag.Directive.Hold, js.PendingTag, js.Dirty = false, true, true
		return []elastic.Action{annotation(&js.Rec)}
	// Requeued by a node failure, a preemption or its user, a while ago: it gets a new placement
	// instead of waiting for nodes that may be down. Or started for nodes that are unusable now.
	case phase == elastic.Queued && (js.Shown.Slurm.Restarts > js.Rec.Restarts && !js.Rec.FirstRun.IsZero() || anyGone(st.Seen.Nodes, js.Shown.Slurm.ReqNodes)):
		return []elastic.Action{later}
	// Its begin time has come by sluice's clock, and not by slurmctld's, which is far behind.
	case phase == elastic.Queued && js.Shown.Slurm.Reason == beginTime && now.Sub(js.Shown.Slurm.Eligible) > beginsLate:
		return []elastic.Action{later}
	case js.PendingTag && phase != elastic.Completing:
		return []elastic.Action{annotation(&js.Rec)}
	// A node lost what ran on it, and Slurm has not noticed.
	case js.strandedNow(now):
		return st.requeueStranded(js, now)
	// A request without a move: the daemon lost its journal, or a move was closed while the
	// file system failed. The job must not wait. The request is withdrawn once per heartbeat,
	// so that a dead runner does not cause it again.
	case phase == elastic.Running && js.Mail.runner.ok && pausing[js.Mail.runner.word.State] && !js.Mail.runner.word.Beat.Equal(js.Mail.freed):
		js.Mail.freed = js.Mail.runner.word.Beat
		return []elastic.Action{elastic.WithdrawRequest{Job: id, Why: reason.NoMoveBehind}}
	}
	return nil
}

// beginTime is Slurm's reason for a job that waits for its begin time. It stays until the next
// scheduling pass, which is seldom more than half a minute away.
const beginTime = "BeginTime"

// beginsLate is for how long after its begin time a job may show that reason.
const beginsLate = 5 * time.Minute

// annotation returns the action that writes the record's tag into the comment. It is safe to repeat.
func annotation(rec *journal.JobRecord) elastic.Action {
	return elastic.Annotate{Job: rec.ID, Directive: rec.Tag.Directive}
}

// anyGone reports whether at least one of the named nodes is unusable.
func anyGone(all []slurm.Node, names []string) bool {
	for _, n := range all {
		if usable, _ := n.Usable(); !usable && slices.Contains(names, n.Name) {
			return true
		}
	}
	return false
}

// pausing are the runner states that exist only while there is a request.
var pausing = map[checkpoint.RunnerState]bool{checkpoint.Saving: true, checkpoint.Waiting: true}

// UnsavedJobs returns the records and runs that the journal lacks. The order is that of service. A
// row for the present run is returned again with every progress line: the journal replaces it by
// token and restarts. Rows that wait for the history are not among them.
func (ro *Roster) UnsavedJobs() (records []journal.JobRecord, segments []journal.Segment) {
	for _, js := range ro.Ordered() {
		if js.Dirty {
			records = append(records, js.Rec)
		}
		if js.Runs.unread {
			continue
		}
		segments = append(segments, js.Runs.past...)
		if js.Runs.segNew && js.Runs.Seg != nil {
			segments = append(segments, *js.Runs.Seg)
		}
	}
	return records, segments
}

// SavedJobs marks them as saved. It marks all jobs: a change between UnsavedJobs and SavedJobs would
// never be written. After an error of the journal it MUST NOT be called; the next save then has the
// same again.
func (ro *Roster) SavedJobs() {
	for _, js := range ro.Jobs {
		if js.Dirty = false; !js.Runs.unread {
			js.Runs.segNew, js.Runs.past = false, nil
		}
	}
}

// ForgetOld removes jobs that ended more than EndedMemory ago from memory, and the samples of models
// without live jobs. The journal and the store keep both. It MUST be called AFTER the report was
// published, which shows jobs for as long as they are here. The age counts from when the end was
// noticed if that is later: after a long outage users still see what happened.
func (st *State) ForgetOld(now time.Time) {
	st.unlearn()
	for token, js := range st.Jobs {
		if !js.Rec.Ended.IsZero() && now.Sub(Later(js.Rec.Ended, js.Over.noticed)) > EndedMemory {
			delete(st.Jobs, token)
			st.order = nil
			delete(st.units, token)
			if st.ByID[js.Rec.ID] == js {
				delete(st.ByID, js.Rec.ID)
			}
		}
	}
}

// unlearn removes the speeds of models without live jobs from memory, also after a job's user
// renamed its model. Speeds that are not in the store yet are kept until they are.
func (st *State) unlearn() {
	over := st.renamed
	for _, js := range st.Jobs {
		switch {
		case js.Rec.Ended.IsZero():
			js.Learnt.unlearned = false
		case !js.Learnt.unlearned && len(js.Learnt.fresh)+len(js.Learnt.paces) == 0:
			js.Learnt.unlearned, js.Learnt.Lazy, over = true, lazyCurve{}, true
		}
	}
	if !over {
		return
	}
	st.renamed = false
	live := map[string]bool{}
	for _, js := range st.Jobs {
		if !js.Learnt.unlearned {
			live[st.Rules.learner(js.Rec)] = true
		}
	}
	st.Learnt.Forget(live)
}
