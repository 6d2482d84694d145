package engine

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// chores lists what is due for a job without an open move.
func (st *State) chores(js *jobState, now time.Time) []elastic.Action {
	phase := phaseOf(js.shown.slurm)
	switch {
	case js.shown.disown:
		return nil
	// Released through Slurm: its user wants it to run.
	case phase == elastic.Queued && js.rec.Tag.Directive.Hold && !js.told:
		js.rec.Tag.Directive.Hold, js.told, js.dirty = false, true, true
		return []elastic.Action{elastic.Annotate{Job: js.rec.ID, Directive: js.rec.Tag.Directive}}
	// Requeued by a lost node, a preemption or its user: held, so that it is
	// placed afresh at once instead of waiting out Slurm's two minutes for
	// nodes that may be gone.
	case phase == elastic.Queued && js.shown.slurm.Restarts > js.rec.Restarts && !js.rec.FirstRun.IsZero():
		return []elastic.Action{elastic.HoldPending{Job: js.rec.ID}}
	// Released as it was, for nodes that are gone.
	case phase == elastic.Queued && anyGone(st.seen.nodes, js.shown.slurm.ReqNodes):
		return []elastic.Action{elastic.HoldPending{Job: js.rec.ID}}
	case js.told && phase != elastic.Completing:
		return []elastic.Action{elastic.Annotate{Job: js.rec.ID, Directive: js.rec.Tag.Directive}}
	// A node lost what ran on it, and Slurm has not noticed.
	case js.strandedNow(now):
		return st.requeueStranded(js, now)
	// It started in the very moment it was held.
	case phase == elastic.Running && js.shown.slurm.Held && js.placing.hold:
		return []elastic.Action{elastic.Release{Job: js.rec.ID}}
	// A request nobody stands behind any more: the daemon lost its journal, or
	// a move was closed while the file system refused. The job must not wait. A
	// runner that says no more is not told again.
	case phase == elastic.Running && js.mail.runner.ok && pausing[js.mail.runner.word.State] && !js.mail.runner.word.Beat.Equal(js.mail.freed):
		js.mail.freed = js.mail.runner.word.Beat
		return []elastic.Action{elastic.WithdrawRequest{Job: js.rec.ID, Why: reason.NoMoveBehind}}
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

// unsaved are the records and runs that the journal does not have.
func (st *State) unsavedJobs() (records []journal.JobRecord, segments []journal.Segment) {
	for _, js := range st.ordered() {
		if js.dirty {
			records = append(records, js.rec)
		}
		segments = append(segments, js.runs.past...)
		if js.runs.segNew && js.runs.seg != nil {
			segments = append(segments, *js.runs.seg)
		}
	}
	return records, segments
}

// savedJobs notes that the journal has them.
func (st *State) savedJobs() {
	for _, js := range st.jobs {
		js.dirty, js.runs.segNew, js.runs.past = false, false, nil
	}
}

// forgetOld drops jobs that ended long ago from memory, and what only decisions about
// them needed at once; the journal and the store keep it.
func (st *State) forgetOld(now time.Time) {
	st.unlearn()
	for token, js := range st.jobs {
		if !js.rec.Ended.IsZero() && now.Sub(later(js.rec.Ended, js.over.noticed)) > EndedMemory {
			delete(st.jobs, token)
			st.order = nil
			delete(st.units, token)
			if st.byID[js.rec.ID] == js {
				delete(st.byID, js.rec.ID)
			}
		}
	}
}

// releasable reports whether a disowned job stands held by sluice's own hand.
func releasable(sj slurm.Job) bool {
	return sj.State == slurm.Pending && sj.Held && !sj.Completing && sj.Reason != "JobHeldAdmin"
}

// unlearn drops the speeds of models of which no job is left, also of those that a job's
// user gave another name. Speeds that are not in the store yet are kept until they are.
func (st *State) unlearn() {
	over := st.renamed
	for _, js := range st.jobs {
		switch {
		case js.rec.Ended.IsZero():
			js.learnt.unlearned = false
		case !js.learnt.unlearned && len(js.learnt.fresh)+len(js.learnt.paces) == 0:
			js.learnt.unlearned, js.learnt.lazy, over = true, lazyCurve{}, true
		}
	}
	if !over {
		return
	}
	st.renamed = false
	live := map[string]bool{}
	for _, js := range st.jobs {
		if !js.learnt.unlearned {
			live[st.learner(js.rec)] = true
		}
	}
	st.learnt.Forget(live)
}
