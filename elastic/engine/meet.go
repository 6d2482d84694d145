package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// between lets in what may be done between two effects of a cycle (Direct and Meet), so
// that an order does not wait for all that a cycle does.
func (e *Engine) between() {
	if e.cfg.Between != nil {
		e.cfg.Between()
	}
}

// Meet takes up a job that no cycle has seen yet, such as one submitted a moment ago: one
// query, for that job alone. It reports whether the job is in the report now. Like Direct
// it may be called between two effects of a cycle.
func (e *Engine) Meet(ctx context.Context, id elastic.JobID, now time.Time) bool {
	if e.report.last.Load() == nil || e.blind.why != "" || !e.loaded {
		return false
	}
	if js := e.byID[id]; js == nil {
		detail, err := e.cfg.Slurm.Job(ctx, slurm.JobID(id))
		if err != nil || detail.ID != slurm.JobID(id) || !elastic.Tagged(detail.Comment) || !e.mine(detail.Job) || detail.Array || detail.Het {
			return false
		}
		tag, err := elastic.ParseTag(detail.Comment)
		if err != nil {
			return false // the next cycle says so
		}
		e.take(detail.Job, tag, now)
	}
	js := e.byID[id]
	if js == nil || !js.shown.seen || js.shown.disown || !js.rec.Ended.IsZero() {
		return false
	}
	e.republish(func(r *Report) {
		if !slices.ContainsFunc(r.Jobs, func(jr JobReport) bool { return jr.Record.Token == js.rec.Token }) {
			var jr JobReport
			e.reportOf(&jr, js, elastic.Plan{})
			e.learnt.Fit(e.keysOf(js.rec), now)
			job := e.jobOf(js, now)
			jr.Job, jr.Why = &job, nil // nothing was decided about it yet: who asks for that waits
			r.Jobs = append([]JobReport{jr}, r.Jobs...)
		}
	})
	return true
}

// republish changes a copy of the last report and hands it to readers.
func (e *Engine) republish(change func(*Report)) {
	next := *e.report.last.Load()
	next.Jobs = slices.Clone(next.Jobs)
	change(&next)
	e.report.last.Store(&next)
}

// mostFresh bounds how many files one Refresh reads.
const mostFresh = 256

// Refresh brings the report up to what running jobs have written since the last cycle: one
// small read for each, of those first that were not heard for longest. Slurm is asked
// nothing. It is called between two cycles.
func (e *Engine) Refresh(now time.Time) {
	if r := e.report.last.Load(); r == nil || r.Blind != "" || !e.loaded {
		return
	}
	var running []*jobState
	for _, js := range e.ordered() {
		if js.shown.seen && !js.shown.disown && js.rec.Ended.IsZero() && js.shown.slurm.State == slurm.Running {
			running = append(running, js)
		}
	}
	slices.SortStableFunc(running, func(a, b *jobState) int { return a.mail.heard.Compare(b.mail.heard) })
	changed := map[string]*jobState{}
	for _, js := range e.readProgressOf(running[:min(len(running), mostFresh)], now) {
		changed[js.rec.Token] = js
	}
	if len(changed) == 0 {
		return
	}
	e.republish(func(r *Report) {
		for i := range r.Jobs {
			jr := &r.Jobs[i]
			js := changed[jr.Record.Token]
			if js == nil || jr.Ended {
				continue
			}
			lazy, fresh := js.learnt.doubted(e.learnt.Fit(e.keysOf(js.rec), now).On(jr.Kind))
			if fresh {
				js.learnt.lazy = lazy
			}
			job := *jr.Job // readers of the last report have that one
			job.Done, job.Speaks, job.Curve = js.rec.Done, js.rec.Speaks || js.rec.Tag.Spec.Signal != "", lazy.curve
			jr.Record, jr.Job, jr.ETA = js.rec, &job, etaOf(&job, jr.Kind, now)
			if js.runs.seg != nil {
				jr.Run = *js.runs.seg
			}
		}
	})
}
