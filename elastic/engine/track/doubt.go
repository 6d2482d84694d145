package track

import (
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// Doubt is a job of Slurm's with a known number and a token that is not the recorded one, submitted later and with
// more restarts. Either its user changed the comment and it was requeued, or slurmctld lost the recorded job, and
// gave its number to another one of the same user, which was requeued since: an older copy of the store, or a
// daemon that was away, does not know that one. What Slurm shows is the same; the runners' status in the folders
// tells them apart, since a script keeps its folder whatever the comment says.
type Doubt struct {
	of      *Job
	slurm   slurm.Job
	comment string // the token in the comment
}

// Doubts returns them. The folders of BoxesOfDoubts MUST be read and passed to SettleDoubts BEFORE Claims. There is at
// most one for each requeue of a job, unless a folder does not answer.
func Doubts(st *State, jobs []slurm.Job) (out []Doubt) {
	for _, sj := range jobs {
		js := st.ByID[elastic.JobID(sj.ID)]
		if js == nil || js.Shown.doubt.follows || !elastic.Tagged(sj.Comment) {
			continue
		}
		if js.Shown.comment == sj.Comment && js.Shown.commented.Spec.Token == js.Rec.Token && js.Mail.doubted.IsZero() || !js.is(sj) {
			continue // its own token, as most have in most looks; or another job
		}
		submitted, restarts := lastShown(js, sj.ID)
		if js.Mail.doubted.IsZero() && !(sj.Submit.After(submitted) && sj.Restarts > restarts) {
			continue
		}
		if tag, err := st.tagOf(sj); err == nil && tag.Spec.Token != js.Rec.Token && st.Jobs[tag.Spec.Token] == nil {
			out = append(out, Doubt{js, sj, tag.Spec.Token})
		} else {
			js.Mail.doubted = time.Time{}
		}
	}
	return out
}

// BoxesOfDoubts returns two folders for each: that on record, and that in the comment.
func BoxesOfDoubts(doubts []Doubt) (out []observe.Box) {
	for _, d := range doubts {
		out = append(out, observe.Box{Token: d.of.Rec.Token, SlurmUID: d.of.Rec.SlurmUID}, observe.Box{Token: d.comment, SlurmUID: d.slurm.UID})
	}
	return out
}

// SettleDoubts decides about each by the status of the runners, in the order of BoxesOfDoubts. A job of which that is
// not known yet, since a folder does not answer, counts as Unread: nothing is decided about it.
func SettleDoubts(doubts []Doubt, words []observe.Word, now time.Time) {
	for i, d := range doubts {
		record, comment := words[2*i], words[2*i+1]
		js := d.of
		js.Mail.doubted = time.Time{}
		switch {
		case !says(comment, d.slurm) && !unanswered(comment.Err): // nobody runs there for this job
		case unanswered(comment.Err), unanswered(record.Err):
			js.Mail.doubted = now
		case !record.OK || record.Runner.Job != int64(d.slurm.ID) || record.Runner.Beat.Before(comment.Runner.Beat):
			js.Shown.doubt.other = d.slurm.Submit
		}
	}
}

// says reports whether a runner's status is of the last run of the job that Slurm shows, or of the run before a requeue.
func says(w observe.Word, sj slurm.Job) bool {
	return w.OK && w.Err == nil && w.Runner.Job == int64(sj.ID) && w.Runner.Restarts+1 >= sj.Restarts
}

// unanswered reports whether the error of a read leaves open what is in the folder.
func unanswered(err error) bool {
	var late *observe.Unanswered
	return errors.As(err, &late) || brokenDisk(err)
}

// doubt is what was decided about later jobs with the number of a record.
type doubt struct {
	// other is the submit time of a job that has the number of this one, and is another one; zero = there is none.
	other time.Time
	// follows: it took its number from a known job. Its token is not doubted: so a user who forges the status of
	// runners makes one more record of a number, for each start of the daemon.
	follows bool
}
