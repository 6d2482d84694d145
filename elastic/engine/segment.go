package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// beginSegment opens the history row of a new run, or takes up the one the
// journal has when the daemon was restarted meanwhile.
func (e *Engine) beginSegment(ctx context.Context, js *jobState, now time.Time) {
	e.endSegment(js, js.changed(now))
	js.putBy()
	js.rec.Deaf = 0
	if old, err := e.cfg.Journal.Segments(ctx, js.rec.Token); err == nil {
		for _, seg := range old {
			if seg.Restarts == js.restarts() {
				js.had = max(0, js.had-seg.held(time.Time{}))
				seg.Ended = time.Time{}
				js.seg, js.segNew = &seg, true
				return
			}
		}
	}
	started := js.slurm.Start
	if started.IsZero() || started.After(now) {
		started = now
	}
	js.seg = &Segment{
		Token: js.rec.Token, Restarts: js.restarts(), Incarnation: js.rec.Tag.Incarnation,
		Place: js.rec.Place, Started: started, DoneFrom: js.rec.Done, DoneTo: js.rec.Done,
		Cause: e.causeOf(js),
	}
	js.segNew, js.dirty, js.outside = true, true, false
}

// causeOf says why the run began: the open move, or Slurm and its users.
func (e *Engine) causeOf(js *jobState) reason.Reason {
	for _, in := range e.open {
		if in.Job == js.rec.ID && in.Kind == elastic.Start && js.outside {
			return reason.OutsideSluice{Because: in.Cause}
		}
		if in.Job == js.rec.ID {
			return in.Cause
		}
	}
	if js.slurm.Restarts > 0 {
		return reason.RequeuedOutside
	}
	return reason.StartedBySlurm
}

func (e *Engine) endSegment(js *jobState, now time.Time) {
	if js.seg == nil || !js.seg.Ended.IsZero() {
		return
	}
	js.seg.Ended, js.segNew = now, true
}

// changed is when the last run gave way to the present one, at the latest.
func (js *jobState) changed(now time.Time) time.Time {
	if next := js.slurm.Start; js.seg != nil && next.After(js.seg.Started) && next.Before(now) {
		return next
	}
	return now
}

// putBy makes room for the segment of another run.
func (js *jobState) putBy() {
	if js.seg == nil {
		return
	}
	if js.segNew {
		js.past = append(js.past, *js.seg)
	}
	js.had += js.seg.held(js.seg.Ended)
	js.seg = nil
}

// recount sums what the job's runs had before this daemon's life, once.
func (e *Engine) recount(ctx context.Context, js *jobState) {
	if js.counted {
		return
	}
	if js.rec.FirstRun.IsZero() {
		js.counted = true
		return
	}
	old, err := e.cfg.Journal.Segments(ctx, js.rec.Token)
	if err != nil {
		return // asked again in the next cycle
	}
	js.had, js.counted = 0, true
	for i, seg := range old {
		if js.seg != nil && js.seg.Restarts == seg.Restarts {
			continue
		}
		until := time.Time{}
		if i+1 < len(old) { // nobody saw its end
			until = old[i+1].Started
		}
		if end := js.rec.Tag.Spec.Total; end > 0 && js.course.of == 0 && seg.DoneTo >= end && seg.held(until) > 0 {
			js.course = passedBefore(js.had, seg, seg.held(until), end)
		}
		js.had += seg.held(until)
	}
}

// attained is what the job has had so far, in GPU-seconds.
func (js *jobState) attained(now time.Time) float64 {
	if js.seg == nil {
		return js.had
	}
	return js.had + js.seg.held(now)
}

// held is what the segment held of the cluster by now, in GPU-seconds; nothing
// when it has no end and now is zero.
func (s Segment) held(now time.Time) float64 {
	if !s.Ended.IsZero() {
		now = s.Ended
	}
	return max(0, now.Sub(s.Started).Seconds()) * float64(s.Place.GPUs())
}
