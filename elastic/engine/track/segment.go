package track

import (
	"cmp"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// begins reports whether a run with a known split is seen for the first time. A new run by the
// runner's count of restarts begins one too, where slurmctld has forgotten a restart.
func (js *Job) begins() bool {
	return js.Shown.Slurm.State == slurm.Running && js.Rec.Restarts == js.Shown.Slurm.Restarts &&
		(js.Runs.Seg == nil || js.Runs.Seg.Restarts != js.Restarts() || !js.Runs.Seg.Ended.IsZero())
}

// beginSegment opens the history row of a new run, or continues the one in the journal after a
// restart of the daemon. If the history could not be read, the row waits for it (runs.join).
func (open Moves) beginSegment(js *Job, old observe.History, now time.Time) {
	if seg := js.Runs.Seg; old.Err != nil && seg != nil && seg.Restarts == js.Restarts() { // it was closed too early
		seg.Ended, js.Runs.segNew = time.Time{}, true
		return
	}
	js.Runs.unread = js.Runs.unread || old.Err != nil
	js.Runs.end(js.Runs.changed(js.Shown.Slurm.Start, now))
	js.Runs.archive()
	js.Rec.Deaf = 0
	for _, seg := range old.Segments {
		if seg.Restarts == js.Restarts() {
			js.Runs.had = max(0, js.Runs.had-seg.Held(time.Time{}))
			seg.Ended = time.Time{}
			js.Runs.Seg, js.Runs.segNew = &seg, true
			return
		}
	}
	started := js.Shown.Slurm.Start
	if started.IsZero() || started.After(now) {
		started = now
	}
	js.Runs.Seg = &journal.Segment{
		Token: js.Rec.Token, Restarts: js.Restarts(), Incarnation: js.Rec.Tag.Incarnation,
		Place: js.Rec.Place, Started: started, DoneFrom: js.Rec.Done, DoneTo: js.Rec.Done,
		Cause: open.causeOf(js),
	}
	js.Runs.segNew, js.Dirty, js.Shown.outside, js.Tells.parked = true, true, false, nil
}

// join completes the rows that were begun while the history could not be read by what the journal has of the
// same runs: when and why they began, from which checkpoint, and what was measured. Until then none of them is
// saved, which would replace those of the journal. It MUST be called BEFORE recount.
func (r *runs) join(old observe.History) {
	if !r.unread || old.Err != nil {
		return
	}
	r.unread = false
	for _, seg := range old.Segments {
		for i := range r.past {
			if row := &r.past[i]; row.Restarts == seg.Restarts {
				held := row.Held(row.Ended)
				join(row, seg)
				r.had += row.Held(row.Ended) - held
			}
		}
		if r.Seg == nil || r.Seg.Restarts != seg.Restarts {
			continue
		}
		if r.counted {
			r.had = max(0, r.had-seg.Held(time.Time{}))
		}
		join(r.Seg, seg)
	}
}

// join makes one row of two of the same run: the one in memory, and the one that the journal has.
func join(row *journal.Segment, kept journal.Segment) {
	row.Incarnation, row.Started, row.DoneFrom, row.Cause = kept.Incarnation, kept.Started, kept.DoneFrom, kept.Cause
	row.Seconds = cmp.Or(row.Seconds, kept.Seconds)
	p, was := &row.Price, kept.Price
	p.Save, p.Drain, p.Start, p.Load = cmp.Or(p.Save, was.Save), cmp.Or(p.Drain, was.Drain), cmp.Or(p.Start, was.Start), cmp.Or(p.Load, was.Load)
}

// causeOf returns why the run began: its open move, or else a start or requeue outside of sluice.
func (open Moves) causeOf(js *Job) reason.Reason {
	for _, in := range open {
		if in.Job == js.Rec.ID && in.Kind == elastic.Start && js.Shown.outside {
			return reason.OutsideSluice{Because: in.Cause}
		}
		if in.Job == js.Rec.ID && in.Kind == elastic.Start && js.Tells.parked != nil {
			return reason.ResumesAfter{After: js.Tells.parked, Because: in.Cause}
		}
		if in.Job == js.Rec.ID {
			return in.Cause
		}
	}
	if js.Shown.Slurm.Restarts > 0 {
		return reason.RequeuedOutside
	}
	return reason.StartedBySlurm
}

// whyParked unwraps the reason of a decision to stop a job.
func whyParked(cause reason.Reason) reason.Reason {
	if stops, ok := cause.(reason.Stops); ok && stops.Because != nil {
		return stops.Because
	}
	return cause
}

// end sets the end of the last run, unless it is set.
func (r *runs) end(at time.Time) {
	if r.Seg == nil || !r.Seg.Ended.IsZero() {
		return
	}
	r.Seg.Ended, r.segNew = at, true
}

// changed returns the latest possible end of the last run, given that another started at next.
func (r *runs) changed(next, now time.Time) time.Time {
	if r.Seg != nil && next.After(r.Seg.Started) && next.Before(now) {
		return next
	}
	return now
}

// archive adds the last run to had, queues its row for the journal if unsaved, and clears Seg. It
// MUST be called AFTER end: a run without an end adds nothing to had.
func (r *runs) archive() {
	if r.Seg == nil {
		return
	}
	if r.segNew {
		r.past = append(r.past, *r.Seg)
	}
	r.had += r.Seg.Held(r.Seg.Ended)
	r.Seg = nil
}

// recount sums the GPU-seconds of the runs before this daemon started, once. If the history could
// not be read, it is requested again in the next cycle. An earlier run without an end is counted up
// to the start of the next one. The present run is left out, as attained adds it.
func (js *Job) recount(old observe.History) {
	switch {
	case js.Runs.counted:
		return
	case js.Rec.FirstRun.IsZero():
		js.Runs.counted = true
		return
	case old.Err != nil:
		return
	}
	js.Runs.had, js.Runs.counted = 0, true
	for i, seg := range old.Segments {
		if js.Runs.Seg != nil && js.Runs.Seg.Restarts == seg.Restarts {
			continue
		}
		until := time.Time{}
		if i+1 < len(old.Segments) { // its end was not seen
			until = old.Segments[i+1].Started
		}
		if end := js.Rec.Tag.Spec.Total; end > 0 && js.Rec.Tag.Spec.Sweep == "" && js.Runs.course.of == 0 && seg.DoneTo >= end && seg.Held(until) > 0 {
			js.Runs.course = passedBefore(js.Runs.had, seg, seg.Held(until), end)
		}
		js.Runs.had += seg.Held(until)
	}
}

// attained returns the GPU-seconds that the job has used so far.
func (r *runs) attained(now time.Time) float64 {
	if r.Seg == nil {
		return r.had
	}
	return r.had + r.Seg.Held(now)
}
