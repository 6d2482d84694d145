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

// Chores lists what is due for a job without an open move.
func (st *State) Chores(js *Job, now time.Time) []elastic.Action {
	phase := PhaseOf(js.Shown.Slurm)
	switch {
	case js.Shown.Disown:
		return nil
	// Released through Slurm: its user wants it to run.
	case phase == elastic.Queued && js.Rec.Tag.Directive.Hold && !js.PendingTag:
		js.Rec.Tag.Directive.Hold, js.PendingTag, js.Dirty = false, true, true
		return []elastic.Action{elastic.Annotate{Job: js.Rec.ID, Directive: js.Rec.Tag.Directive}}
	// Requeued by a lost node, a preemption or its user: held, so that it is
	// placed afresh at once instead of waiting out Slurm's two minutes for
	// nodes that may be gone.
	case phase == elastic.Queued && js.Shown.Slurm.Restarts > js.Rec.Restarts && !js.Rec.FirstRun.IsZero():
		return []elastic.Action{elastic.HoldPending{Job: js.Rec.ID}}
	// Released as it was, for nodes that are gone.
	case phase == elastic.Queued && anyGone(st.Seen.Nodes, js.Shown.Slurm.ReqNodes):
		return []elastic.Action{elastic.HoldPending{Job: js.Rec.ID}}
	case js.PendingTag && phase != elastic.Completing:
		return []elastic.Action{elastic.Annotate{Job: js.Rec.ID, Directive: js.Rec.Tag.Directive}}
	// A node lost what ran on it, and Slurm has not noticed.
	case js.strandedNow(now):
		return st.requeueStranded(js, now)
	// It started in the very moment it was held.
	case phase == elastic.Running && js.Shown.Slurm.Held && js.Placing.Hold:
		return []elastic.Action{elastic.Release{Job: js.Rec.ID}}
	// A request that belongs to no move any more: the daemon lost its journal, or
	// a move was closed while the file system refused. The job must not wait. A
	// runner that says no more is not told again.
	case phase == elastic.Running && js.Mail.runner.ok && pausing[js.Mail.runner.word.State] && !js.Mail.runner.word.Beat.Equal(js.Mail.freed):
		js.Mail.freed = js.Mail.runner.word.Beat
		return []elastic.Action{elastic.WithdrawRequest{Job: js.Rec.ID, Why: reason.NoMoveBehind}}
	}
	return nil
}

// anyGone reports whether Slurm would start nothing on one of the nodes.
func anyGone(all []slurm.Node, names []string) bool {
	for _, n := range all {
		if usable, _ := n.Usable(); !usable && slices.Contains(names, n.Name) {
			return true
		}
	}
	return false
}

// pausing lists what a runner does only while a request stands.
var pausing = map[checkpoint.RunnerState]bool{checkpoint.Saving: true, checkpoint.Waiting: true}

// UnsavedJobs are the records and runs that the journal does not have.
func (ro *Roster) UnsavedJobs() (records []journal.JobRecord, segments []journal.Segment) {
	for _, js := range ro.Ordered() {
		if js.Dirty {
			records = append(records, js.Rec)
		}
		segments = append(segments, js.Runs.past...)
		if js.Runs.segNew && js.Runs.Seg != nil {
			segments = append(segments, *js.Runs.Seg)
		}
	}
	return records, segments
}

// SavedJobs notes that the journal has them.
func (ro *Roster) SavedJobs() {
	for _, js := range ro.Jobs {
		js.Dirty, js.Runs.segNew, js.Runs.past = false, false, nil
	}
}

// ForgetOld drops jobs that ended long ago from memory, and what only decisions about
// them needed at once; the journal and the store keep it.
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

// Releasable reports whether a disowned job stands held by sluice's own hand.
func Releasable(sj slurm.Job) bool {
	return sj.State == slurm.Pending && sj.Held && !sj.Completing && sj.Reason != "JobHeldAdmin"
}

// unlearn drops the speeds of models of which no job is left, also of those that a job's
// user gave another name. Speeds that are not in the store yet are kept until they are.
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
