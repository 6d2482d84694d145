package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// begins reports whether a run of the job is seen for the first time whose split is known.
func (js *jobState) begins() bool {
	return js.shown.slurm.State == slurm.Running && js.rec.Restarts == js.shown.slurm.Restarts &&
		(js.runs.seg == nil || js.runs.seg.Restarts != js.restarts() || !js.runs.seg.Ended.IsZero())
}

// beginSegment opens the history row of a new run, or takes up the one the
// journal has when the daemon was restarted meanwhile.
func (st *State) beginSegment(js *jobState, old observe.History, now time.Time) {
	js.runs.end(js.runs.changed(js.shown.slurm.Start, now))
	js.runs.putBy()
	js.rec.Deaf = 0
	for _, seg := range old.Segments {
		if seg.Restarts == js.restarts() {
			js.runs.had = max(0, js.runs.had-seg.Held(time.Time{}))
			seg.Ended = time.Time{}
			js.runs.seg, js.runs.segNew = &seg, true
			return
		}
	}
	started := js.shown.slurm.Start
	if started.IsZero() || started.After(now) {
		started = now
	}
	js.runs.seg = &journal.Segment{
		Token: js.rec.Token, Restarts: js.restarts(), Incarnation: js.rec.Tag.Incarnation,
		Place: js.rec.Place, Started: started, DoneFrom: js.rec.Done, DoneTo: js.rec.Done,
		Cause: st.open.causeOf(js),
	}
	js.runs.segNew, js.dirty, js.shown.outside, js.tells.parked = true, true, false, nil
}

// causeOf says why the run began: the open move, or Slurm and its users.
func (open openMoves) causeOf(js *jobState) reason.Reason {
	for _, in := range open {
		if in.Job == js.rec.ID && in.Kind == elastic.Start && js.shown.outside {
			return reason.OutsideSluice{Because: in.Cause}
		}
		if in.Job == js.rec.ID && in.Kind == elastic.Start && js.tells.parked != nil {
			return reason.ResumesAfter{After: js.tells.parked, Because: in.Cause}
		}
		if in.Job == js.rec.ID {
			return in.Cause
		}
	}
	if js.shown.slurm.Restarts > 0 {
		return reason.RequeuedOutside
	}
	return reason.StartedBySlurm
}

// whyParked is the reason behind a decision to stop a job, or the cause itself.
func whyParked(cause reason.Reason) reason.Reason {
	if stops, ok := cause.(reason.Stops); ok && stops.Because != nil {
		return stops.Because
	}
	return cause
}

// end ends the last run, unless it has ended.
func (r *runs) end(at time.Time) {
	if r.seg == nil || !r.seg.Ended.IsZero() {
		return
	}
	r.seg.Ended, r.segNew = at, true
}

// changed is when the last run gave way to the one that started at next, at the latest.
func (r *runs) changed(next, now time.Time) time.Time {
	if r.seg != nil && next.After(r.seg.Started) && next.Before(now) {
		return next
	}
	return now
}

// putBy makes room for the segment of another run.
func (r *runs) putBy() {
	if r.seg == nil {
		return
	}
	if r.segNew {
		r.past = append(r.past, *r.seg)
	}
	r.had += r.seg.Held(r.seg.Ended)
	r.seg = nil
}

// recount sums what the job's runs had before this daemon's life, once. A history that could not
// be read is asked for again in the next cycle.
func (js *jobState) recount(old observe.History) {
	switch {
	case js.runs.counted:
		return
	case js.rec.FirstRun.IsZero():
		js.runs.counted = true
		return
	case old.Err != nil:
		return
	}
	js.runs.had, js.runs.counted = 0, true
	for i, seg := range old.Segments {
		if js.runs.seg != nil && js.runs.seg.Restarts == seg.Restarts {
			continue
		}
		until := time.Time{}
		if i+1 < len(old.Segments) { // nobody saw its end
			until = old.Segments[i+1].Started
		}
		if end := js.rec.Tag.Spec.Total; end > 0 && js.runs.course.of == 0 && seg.DoneTo >= end && seg.Held(until) > 0 {
			js.runs.course = passedBefore(js.runs.had, seg, seg.Held(until), end)
		}
		js.runs.had += seg.Held(until)
	}
}

// attained is what the job has had so far, in GPU-seconds.
func (r *runs) attained(now time.Time) float64 {
	if r.seg == nil {
		return r.had
	}
	return r.had + r.seg.Held(now)
}
