package engine

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"

	"github.com/sluice-hpc/sluice/elastic/engine/event"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/slurm"
)

// EndedMemory is how long ended jobs stay in the report.
const EndedMemory = 24 * time.Hour

func (st *State) remember(js *jobState) {
	js.tells.problem = map[string]string{}
	st.jobs[js.rec.Token], st.order = js, nil
	if old := st.byID[js.rec.ID]; old == nil || old.rec.Submitted.Before(js.rec.Submitted) {
		st.byID[js.rec.ID] = js
	}
}

// tagOf reads the job's comment, unless it is the one that was read the last time.
func (st *State) tagOf(sj slurm.Job) (elastic.Tag, error) {
	js := st.byID[elastic.JobID(sj.ID)]
	if js != nil && js.shown.comment == sj.Comment {
		return js.shown.commented, nil
	}
	tag, err := elastic.ParseTag(sj.Comment)
	if js != nil && err == nil {
		js.shown.comment, js.shown.commented = sj.Comment, tag
	}
	return tag, err
}

// take joins one tagged job to its record. A token belongs to one job and one
// user; a second claimant is left alone.
func (st *State) take(sj slurm.Job, tag elastic.Tag, owners map[observe.Box]error, now time.Time) {
	if known := st.byID[elastic.JobID(sj.ID)]; known != nil && known.is(sj) && known.rec.Token != tag.Spec.Token {
		st.rewritten(known, sj, now)
		return
	}
	js := st.jobs[tag.Spec.Token]
	if js == nil {
		if sj.State.Ended() {
			return // over before sluice ever saw it
		}
		if why := squats(owners[observe.Box{Token: tag.Spec.Token, UID: sj.UID}]); why != "" {
			st.leave(sj, now, why)
			return
		}
		js = st.adopt(sj, tag, now)
	}
	if js.rec.ID != elastic.JobID(sj.ID) || js.rec.UID != sj.UID {
		st.leave(sj, now, fmt.Sprintf("its comment carries the token of job %d; left alone", js.rec.ID))
		return
	}
	// Orders come through sluice, and were durable before their caller was told:
	// the record knows better than a comment not yet written.
	if tag.Directive != js.rec.Tag.Directive {
		tag.Directive, js.told = js.rec.Tag.Directive, true
	}
	// Never back: slurmctld may have carried an older change out late, or forgotten this one.
	if tag.Incarnation < js.rec.Tag.Incarnation {
		tag.Incarnation, js.told = js.rec.Tag.Incarnation, true
	}
	if tag.Spec.Array.Open && !js.rec.Tag.Spec.Array.Open {
		tag.Spec.Array.Open, js.told = false, true
	}
	st.livesAgain(js, sj, now)
	js.shown.waited = phaseOf(js.shown.slurm) == elastic.Held
	js.shown.seen, js.shown.disown, js.shown.slurm = true, false, sj
	delete(js.tells.problem, "comment")
	js.rec.Name, js.rec.Partition = sj.Name, eligible.PartitionsOf(js.rec.Partition, tag.Partition, sj)
	if !sameTag(js.rec.Tag, tag) {
		st.renamed = st.renamed || tag.Spec.Model != js.rec.Tag.Spec.Model
		js.rec.Tag, js.dirty = tag, true
	}
}

// livesAgain takes back the end of a job that its user requeued while Slurm remembers it.
func (st *State) livesAgain(js *jobState, sj slurm.Job, now time.Time) {
	if js.rec.Ended.IsZero() || sj.State.Ended() || sj.Completing {
		return
	}
	js.rec.Ended, js.rec.Deaf, js.over.words, js.dirty = time.Time{}, 0, nil, true
	js.over.noticed = time.Time{}
	js.over.exit, js.rec.Ending = nil, journal.Ending{}
	st.Tell(now, js.rec.ID, "adopted", "lives again: its user requeued it")
}

// sameTag reports whether two tags are written alike.
func sameTag(a, b elastic.Tag) bool { return a.Equal(b) || a.String() == b.String() }

func (st *State) adopt(sj slurm.Job, tag elastic.Tag, now time.Time) *jobState {
	js := &jobState{dirty: true, rec: journal.JobRecord{
		Token: tag.Spec.Token, ID: elastic.JobID(sj.ID), Name: sj.Name, User: sj.User, UID: sj.UID,
		Partition: sj.Partition, Tag: tag, Submitted: sj.Submit, Price: st.Rules.Price,
		Restarts: -1,
	}}
	if js.rec.Submitted.IsZero() {
		js.rec.Submitted = now
	}
	st.remember(js)
	st.Tell(now, js.rec.ID, "adopted", fmt.Sprintf("%s of %s, %s", sj.Name, sj.User, tag), event.Fields{Token: tag.Spec.Token})
	return js
}

// disowned notes a job whose tag its user took away.
func (st *State) disowned(sj slurm.Job, now time.Time) {
	js := st.byID[elastic.JobID(sj.ID)]
	if js == nil || js.rec.UID != sj.UID || !js.rec.Ended.IsZero() {
		return
	}
	if !js.shown.disown {
		st.Tell(now, js.rec.ID, "problem", "its sluice comment was removed; left alone from now on", event.Fields{Problem: event.ProblemUntagged})
	}
	js.shown.seen, js.shown.disown, js.shown.slurm = true, true, sj
	js.tells.problem["comment"] = "the sluice comment was removed; the job is left alone"
}

// unreadable notes a comment that claims to be sluice's and cannot be read. A
// known job goes on with the spec it had.
func (st *State) unreadable(sj slurm.Job, err error, now time.Time) {
	js := st.byID[elastic.JobID(sj.ID)]
	if js == nil || js.rec.UID != sj.UID || !js.rec.Ended.IsZero() {
		st.leave(sj, now, "its comment cannot be read: "+err.Error(), event.Fields{Problem: event.ProblemUnreadable})
		return
	}
	js.shown.seen, js.shown.disown, js.shown.slurm = true, false, sj
	js.tells.problem["comment"] = "the job's comment cannot be read (" + err.Error() + "); its last good one stands"
}

// atLeast keeps a record that is an older copy from giving an incarnation again that the
// job's comment shows.
func (js *jobState) atLeast(comment string) {
	if tag, err := elastic.ParseTag(comment); err == nil && tag.Incarnation > js.rec.Tag.Incarnation {
		js.rec.Tag.Incarnation, js.dirty = tag.Incarnation, true
	}
}

// ended notes that a job has ended, and what its runner said last, which was read since.
func (st *State) ended(js *jobState, state string, last observe.Word, now time.Time) {
	if !js.rec.Ended.IsZero() {
		return
	}
	js.rec.Ended, js.rec.State, js.dirty = js.endedAt(now), state, true
	js.over.noticed = now
	st.hadRun(js, now)
	js.heardLast(last)
	js.runs.end(js.endOfRun(now))
	js.rec.Ending = js.ending()
	js.tookInAll(now)
	st.lengths.note(js.rec)
	st.Tell(now, js.rec.ID, "ended", state+": "+js.ending().String(), event.Fields{State: state})
}
