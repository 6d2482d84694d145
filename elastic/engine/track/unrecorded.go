package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// unrecordedFor is for how long after its end a failed job that is not on record counts as one that the store
// lost. It MUST be less than EndedMemory, by more than the clocks of Slurm and sluice differ: the store gives back
// no jobs that ended before that.
const unrecordedFor = EndedMemory / 2

// unrecorded has, by number, the failed jobs without a record of which the folder was read, and whether they are
// taken up again.
type unrecorded map[slurm.JobID]bool

// Unrecorded returns the failed jobs that sluice has started, and of which the store has nothing: it was lost, or an
// older copy was put back. Their folders (BoxesOfUnrecorded) MUST be read and passed to SettleUnrecorded BEFORE Match.
// Each job is returned once, unless its folder does not answer.
func Unrecorded(st *State, jobs []slurm.Job, now time.Time) (out []slurm.Job) {
	settled := unrecorded{}
	for _, sj := range jobs {
		if sj.State != slurm.Failed || sj.Completing || !now.Before(sj.End.Add(unrecordedFor)) || !st.Mine(sj) || sj.Array || sj.Het || !elastic.Tagged(sj.Comment) {
			continue
		}
		tag, err := st.tagOf(sj)
		if known := st.ByID[elastic.JobID(sj.ID)]; err != nil || tag.Incarnation == 0 || st.Jobs[tag.Spec.Token] != nil || known != nil && known.is(sj) {
			continue
		}
		if takenUp, ok := st.unmanaged.failed[sj.ID]; ok {
			settled[sj.ID] = takenUp
			continue
		}
		out = append(out, sj)
	}
	st.unmanaged.failed = settled
	return out
}

// BoxesOfUnrecorded returns the folders of these jobs.
func BoxesOfUnrecorded(st *State, jobs []slurm.Job) []observe.Box {
	out := make([]observe.Box, len(jobs))
	for i, sj := range jobs {
		if tag, err := st.tagOf(sj); err == nil {
			out[i] = observe.Box{Token: tag.Spec.Token, SlurmUID: sj.UID}
		}
	}
	return out
}

// SettleUnrecorded decides which of them Match takes up, by the status of their runners in the same order: those
// that failed of a stop of sluice's. Then mayRequeue brings them back.
func SettleUnrecorded(st *State, jobs []slurm.Job, words []observe.Word) {
	for i, sj := range jobs {
		if w := words[i]; !unanswered(w.Err) {
			st.unmanaged.failed[sj.ID] = w.Err == nil && w.OK && w.Runner.Job == int64(sj.ID) && stoppedSaved(w.Runner, sj)
		}
	}
}

// stoppedSaved reports whether the failed run was most likely stopped by sluice: its runner had answered a request
// with a checkpoint, the answer still stood, and a signal ended the script. sluice stops no run of a move without such
// an answer, and it is gone once the program trains on. slurmctld, which was killed before it saved the stop, takes
// the script's end for a failure. The runner's own exit says nothing: it is that of a program that may have saved and
// ended before.
func stoppedSaved(word checkpoint.Runner, sj slurm.Job) bool {
	signal := sj.ExitSignal != 0 && sj.ExitSignal != slurm.LaunchIO || sj.ExitCode > signalled
	return current(word, sj) && signal && word.Answer != nil && word.Answer.Checkpoint != ""
}

// stopUnrecorded reports whether the failed run was stopped by sluice and no open move says so, since an older copy
// of the store was put back. The answer is the job's own word, so that a daemon believes it once of a job.
func (r *rescue) stopUnrecorded(by runnerWord, sj slurm.Job) bool {
	return !r.believed && by.ok && stoppedSaved(by.word, sj)
}
