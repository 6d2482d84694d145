package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// EndedMemory is how long ended jobs stay in memory and in the report.
const EndedMemory = 24 * time.Hour

// Remember adds a job. If two jobs have the same number, ByID has the one submitted later. It makes
// Ordered sort again. A token MUST NOT be known already: its job would be lost from memory.
func (ro *Roster) Remember(js *Job) {
	js.Tells.Problem = map[string]string{}
	ro.Jobs[js.Rec.Token], ro.order = js, nil
	if old := ro.ByID[js.Rec.ID]; old == nil || old.Rec.Submitted.Before(js.Rec.Submitted) {
		ro.ByID[js.Rec.ID] = js
	}
}

// tagOf parses the job's comment. An unchanged comment is not parsed again. Most cycles see most
// comments unchanged, so that 100,000 jobs cost a comparison each.
func (ro *Roster) tagOf(sj slurm.Job) (elastic.Tag, error) {
	js := ro.ByID[elastic.JobID(sj.ID)]
	if js != nil && js.Shown.comment == sj.Comment {
		return js.Shown.commented, nil
	}
	tag, err := elastic.ParseTag(sj.Comment)
	if js != nil && err == nil {
		js.Shown.comment, js.Shown.commented = sj.Comment, tag
	}
	return tag, err
}

// Take matches one tagged job to its record. A token belongs to one job and one user; a second
// job with the same token is ignored.
//
// What the comment and the record disagree about:
//
//	part                     what is used     why
//	token                    the record's     see rewritten
//	owner                    the record's     see ownerKept
//	directive, deadline      the record's     an order is recorded BEFORE its comment is written
//	incarnation              the larger       slurmctld may show an older comment (I1)
//	open array               closed, if       see closeArrays
//	                         either says so
//	begin time, how it waits see waitingTag and withUsersBegin
//	the rest                 the comment's    its user may change the job with scontrol
//
// If the comment has to be written, PendingTag is set and Chores returns the action.
func (st *State) Take(sj slurm.Job, tag elastic.Tag, folders map[observe.Box]error, now time.Time) {
	if known := st.ByID[elastic.JobID(sj.ID)]; known != nil && known.is(sj) && known.Rec.Token != tag.Spec.Token {
		st.rewritten(known, sj, now)
		return
	}
	js := st.Jobs[tag.Spec.Token]
	if js == nil {
		if sj.State.Ended() && !st.unmanaged.failed[sj.ID] {
			return // over before sluice ever saw it, as far as it knows
		}
		if why := folderConflict(folders[observe.Box{Token: tag.Spec.Token, SlurmUID: sj.UID}]); why != "" {
			st.leave(sj, now, why, event.Fields{Problem: event.ProblemFolder})
			return
		}
		owner, why := st.confined.ownerOf(sj, tag.For)
		if why != "" {
			st.leave(sj, now, why, event.Fields{Problem: event.ProblemOwner})
			return
		}
		before := st.ByID[elastic.JobID(sj.ID)]
		js = st.adopt(sj, tag, owner, now)
		js.Shown.doubt.follows = before != nil && !before.Shown.doubt.other.IsZero()
	}
	if js.Rec.ID != elastic.JobID(sj.ID) || js.Rec.SlurmUID != sj.UID {
		st.leave(sj, now, fmt.Sprintf("its comment carries the token of job %d; left alone", js.Rec.ID))
		return
	}
	js.Shown.comment, js.Shown.commented = sj.Comment, tag
	tag = ownerKept(&st.Log, js, tag, now)
	// A user's order is recorded before the comment is written, so the record wins over an
	// older comment.
	if tag.Directive != js.Rec.Tag.Directive {
		tag.Directive, js.PendingTag = js.Rec.Tag.Directive, true
	}
	tag.Spec.Deadline, tag.Spec.Soft, js.PendingTag = deadlineOf(tag.Spec, js.Rec.Tag.Spec, js.PendingTag)
	// An incarnation never decreases: slurmctld may have applied an older update late, or
	// lost the newest one.
	if tag.Incarnation < js.Rec.Tag.Incarnation {
		tag.Incarnation, js.PendingTag = js.Rec.Tag.Incarnation, true
	}
	if tag.Spec.Array.Open && !js.Rec.Tag.Spec.Array.Open {
		tag.Spec.Array.Open, js.PendingTag = false, true
	}
	tag, differs := waitingTag(tag, js.Rec.Tag, sj, st.Open.has(js.Rec.ID))
	tag, moved := withUsersBegin(js, tag, sj, sight{now: now, began: st.Began, abandon: st.Rules.Limits.Abandon, moves: st.Open.has(js.Rec.ID)})
	js.PendingTag = js.PendingTag || differs || moved
	st.livesAgain(js, sj, now)
	js.Shown.Seen, js.Shown.Disown, js.Shown.Slurm = true, false, sj
	js.rescue.restarts = max(js.rescue.restarts, sj.Restarts)
	delete(js.Tells.Problem, "comment")
	js.Dirty = charge(&js.Rec, st.Shares.accountOf(js.Rec.Owner.User, sj.Account)) || js.Dirty
	js.Rec.Name, js.Rec.Partition = sj.Name, eligible.PartitionsOf(js.Rec.Partition, tag.Partition, sj)
	if !sameTag(js.Rec.Tag, tag) {
		st.renamed = st.renamed || tag.Spec.Model != js.Rec.Tag.Spec.Model
		js.Rec.Tag, js.Dirty = tag, true
	}
}

// deadlineOf returns a job's deadline, and whether its comment has to be written: a new deadline is recorded
// before the comment is, so the record wins, as it does for a directive. A comment without an amount of
// work cannot have one.
func deadlineOf(comment, record elastic.Spec, pending bool) (due time.Time, soft, write bool) {
	if comment.Total <= 0 || comment.Deadline.Equal(record.Deadline) && comment.Soft == record.Soft {
		return comment.Deadline, comment.Soft, pending
	}
	return record.Deadline, record.Soft, true
}

// charge records the account in which the job counts, and reports whether it is another one. Where
// there is none any more the last one stays.
func charge(rec *journal.JobRecord, account string) bool {
	shown := journal.Account{Name: account, Known: true}
	if rec.Account == shown || account == "" && rec.Account.Known {
		return false
	}
	rec.Account = shown
	return true
}

// livesAgain clears the end of a job that was requeued before Slurm purged it: by its user, or for
// its open move. It may have ended again since the last look.
func (st *State) livesAgain(js *Job, sj slurm.Job, now time.Time) {
	if js.Rec.Ended.IsZero() || sj.Completing || sj.State.Ended() && !ranSince(js, sj) {
		return
	}
	js.Rec.Ended, js.Rec.Deaf, js.Over.Words, js.Dirty = time.Time{}, 0, nil, true
	js.Over.noticed = time.Time{}
	js.Over.exit, js.Rec.Ending = nil, journal.Ending{}
	by := "its user requeued it"
	if st.Open.has(js.Rec.ID) {
		by = "brought back for its move"
	}
	st.Tell(now, js.Rec.ID, "adopted", "lives again: "+by)
}

// ranSince reports whether an ended job has had another run since its recorded end. A requeue
// alone counts a restart too; the job may have been cancelled after it.
func ranSince(js *Job, sj slurm.Job) bool {
	return sj.Restarts > max(js.Rec.Restarts, js.Over.of-1) && sj.Start.After(js.Rec.Ended)
}

// sameTag reports whether two tags are equal or have the same text.
func sameTag(a, b elastic.Tag) bool { return a.Equal(b) || a.String() == b.String() }

// adopt makes the record of a job that was not known. It reaches the journal with the next save; if
// the daemon dies before that, the next one adopts the job again from its comment (I2, decision 2).
// The owner's name stays in the tag only if it counts.
func (st *State) adopt(sj slurm.Job, tag elastic.Tag, owner elastic.Owner, now time.Time) *Job {
	account := st.Shares.accountOf(owner.User, sj.Account)
	fields, by := event.AdoptFields{Token: tag.Spec.Token}, ""
	if owner.UID == sj.UID {
		tag.For = ""
	} else {
		fields.Owner, fields.SlurmUID = owner.User, sj.UID
		by = ", run by " + sj.User
	}
	js := &Job{Dirty: true, Rec: journal.JobRecord{
		Token:    tag.Spec.Token,
		Identity: journal.Identity{ID: elastic.JobID(sj.ID), Name: sj.Name, Owner: owner, SlurmUID: sj.UID, Partition: sj.Partition, Account: journal.Account{Name: account, Known: true}},
		Tag:      tag,
		Life:     journal.Life{Submitted: sj.Submit},
		Price:    st.Rules.Price,
		LastRun:  journal.LastRun{Restarts: -1},
	}}
	if js.Rec.Submitted.IsZero() {
		js.Rec.Submitted = now
	}
	st.Remember(js)
	st.Tell(now, js.Rec.ID, "adopted", fmt.Sprintf("%s of %s%s, %s", sj.Name, owner.User, by, tag), event.Fields{AdoptFields: fields})
	return js
}

// disowned marks a job as not managed: its user removed the tag. The record is kept, so that the job
// is managed again if the tag comes back. A job that was never known is an ordinary job.
func (st *State) disowned(sj slurm.Job, now time.Time) {
	js := st.ByID[elastic.JobID(sj.ID)]
	if js == nil || js.Rec.SlurmUID != sj.UID || !js.Rec.Ended.IsZero() {
		return
	}
	if !js.Shown.Disown {
		st.Tell(now, js.Rec.ID, "problem", "its sluice comment was removed; left alone from now on"+beginning(sj, now), event.Fields{Problem: event.ProblemUntagged})
	}
	js.Shown.Seen, js.Shown.Disown, js.Shown.Slurm = true, true, sj
	js.Tells.Problem["comment"] = "the sluice comment was removed; the job is left alone" + beginning(sj, now)
}

// beginning says when Slurm starts a job that is not managed any more, and how its user does.
func beginning(sj slurm.Job, now time.Time) string {
	if sj.State != slurm.Pending || !sj.Eligible.After(now) {
		return ""
	}
	return fmt.Sprintf("; Slurm starts it after %s; scontrol update JobId=%d StartTime=now starts it at once", sj.Eligible.UTC().Format(time.RFC3339), sj.ID)
}

// unreadable handles a comment that is marked as sluice's and cannot be parsed. A known job
// keeps its last valid spec.
func (st *State) unreadable(sj slurm.Job, err error, now time.Time) {
	js := st.ByID[elastic.JobID(sj.ID)]
	if js == nil || js.Rec.SlurmUID != sj.UID || !js.Rec.Ended.IsZero() {
		st.leave(sj, now, "its comment cannot be read: "+err.Error()+beginning(sj, now), event.Fields{Problem: event.ProblemUnreadable})
		return
	}
	js.Shown.Seen, js.Shown.Disown, js.Shown.Slurm = true, false, sj
	js.Tells.Problem["comment"] = "the job's comment cannot be parsed (" + err.Error() + "); the last valid comment is used"
}

// atLeast raises the recorded incarnation to the one in the job's comment. A record restored
// from an older copy would otherwise assign that incarnation a second time.
func (js *Job) atLeast(comment string) {
	if tag, err := elastic.ParseTag(comment); err == nil && tag.Incarnation > js.Rec.Tag.Incarnation {
		js.Rec.Tag.Incarnation, js.Dirty = tag.Incarnation, true
	}
}

// Ended records that a job has ended, and its runner's last status, which MUST have been read
// after Slurm showed the end. It does nothing for a job that has ended. Shown.Slurm MUST be what
// Slurm or accounting last said of the job: its end, the state of its last run and how it ended are
// derived from that. Ending is computed here once and stored, since Slurm and the folder forget.
func (st *State) Ended(js *Job, state string, last observe.Word, now time.Time) {
	if !js.Rec.Ended.IsZero() {
		return
	}
	js.Rec.Ended, js.Rec.State, js.Dirty = js.endedAt(now), state, true
	js.Over.noticed, js.Over.of = now, js.Shown.Slurm.Restarts+1
	st.Open.hadRun(js, now)
	js.HeardLast(last)
	js.Runs.end(js.endOfRun(now))
	js.Rec.Ending = js.Ending()
	js.noteLength(now)
	st.Lengths.Note(js.Rec)
	st.Tell(now, js.Rec.ID, "ended", state+": "+js.Ending().String(), event.Fields{State: state})
}
