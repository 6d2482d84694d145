package track

import (
	"errors"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// Mine reports whether the engine manages the job. A known job that its user moved to a
// partition without sluice stays managed: otherwise it would count as missing from Slurm's
// answer, and many such jobs would make every answer suspicious.
func (st *State) Mine(sj slurm.Job) bool {
	if st.Rules.Mine == nil || st.Rules.Mine(sj) {
		return true
	}
	js := st.ByID[elastic.JobID(sj.ID)]
	return js != nil && js.Rec.SlurmUID == sj.UID && js.Rec.Ended.IsZero()
}

// leave logs once why a tagged job is not managed. A user may have a thousand such jobs. It is logged
// again if the reason changes, or if the job was not seen in the cycle before.
func (st *State) leave(sj slurm.Job, now time.Time, why string, fields ...event.Fields) {
	if st.unmanaged.before[sj.ID] != why {
		st.Tell(now, elastic.JobID(sj.ID), "problem", why, fields...)
	}
	st.unmanaged.now[sj.ID] = why
}

// folderConflict returns why the job is not adopted: the folder of its token belongs to another user,
// or does not show whose it is yet; "" = it may be adopted. err is the result of reading that folder.
// Without this check any user who sees the name of a new folder could submit a job with that
// token first, and the owner's job would never be managed.
func folderConflict(err error) string {
	var late *observe.Unanswered
	switch {
	case errors.Is(err, checkpoint.ErrOwner):
		return "its comment carries a token whose folder belongs to another user; left alone"
	case errors.As(err, &late):
		return late.Error() + "; it is taken up once it answers"
	case brokenDisk(err):
		return "the folder of its token cannot be read (" + err.Error() + "); it is taken up once it can"
	}
	return ""
}

// brokenDisk reports whether the file system itself failed: then nothing is known of the folder.
func brokenDisk(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ESTALE) || errors.Is(err, syscall.ETIMEDOUT)
}

// is reports whether the job that Slurm shows is the one on record. It compares number, user
// and submit time, which users cannot change, and ignores the comment, which they can. A
// requeue sets a new submit time and counts one more restart. A later submit time without one
// more restart is therefore another job: slurmctld lost the first one and reused its number. So is
// one with a later submit time if the job on record has ended and Slurm forgot it: in an older copy
// of the store the restarts of the later job are not known.
//
//	as on record   number and user agree; submitted no later, or with more restarts
//	another job    submitted later without one more restart; or another user's; or as the runners say (Doubt)
//
// What Slurm showed last in this run of the daemon counts before the record.
func (js *Job) is(sj slurm.Job) bool {
	if js.Rec.ID != elastic.JobID(sj.ID) || js.Rec.SlurmUID != sj.UID {
		return false
	}
	if js.Rec.State == ForgottenState && !js.Rec.Ended.IsZero() && sj.Submit.After(js.Rec.Ended) {
		return false
	}
	if other := js.Shown.doubt.other; !other.IsZero() && !sj.Submit.Before(other) {
		return false
	}
	submitted, restarts := lastShown(js, sj.ID)
	return sj.Restarts > restarts || !sj.Submit.After(submitted)
}

// lastShown returns the time of submit and the restarts that Slurm showed last, or else those on record.
func lastShown(js *Job, id slurm.JobID) (submitted time.Time, restarts int) {
	if js.Shown.Slurm.ID == id && !js.Shown.Slurm.Submit.IsZero() {
		return js.Shown.Slurm.Submit, js.Shown.Slurm.Restarts
	}
	return js.Rec.Submitted, max(js.Rec.Restarts, 0)
}

// rewritten handles a job whose comment has another token than at submission. The job keeps
// its last valid spec, and no record is made for the other token.
func (st *State) rewritten(js *Job, sj slurm.Job, now time.Time) {
	st.livesAgain(js, sj, now)
	if !js.Shown.ignored.token && js.Rec.Ended.IsZero() {
		st.Tell(now, js.Rec.ID, "problem", "the id in its comment was changed; the last valid comment is used")
	}
	js.Shown.Seen, js.Shown.Disown, js.Shown.Slurm, js.Shown.ignored.token = true, false, sj, true
	js.Tells.Problem["comment"] = "the id in the job's comment was changed; the last valid comment is used"
}

// Another reports whether sj is not the recorded job but a later one with the same number. A job
// whose comment has the recorded token is the same job, whatever its submit time.
func Another(js *Job, sj slurm.Job) bool {
	if js.Rec.SlurmUID != sj.UID {
		return true
	}
	tag, err := elastic.ParseTag(sj.Comment)
	return err == nil && tag.Spec.Token != js.Rec.Token && !js.is(sj)
}
