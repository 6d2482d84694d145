package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/engine/watch"
	"github.com/sluice-hpc/sluice/slurm"
)

// Meet adds a job to the report that no cycle has seen yet, such as one submitted just now, with one
// query for that job. It reports whether the job is in the report. Like Direct it may be called
// by Config.Between.
func (e *Engine) Meet(ctx context.Context, id elastic.JobID, now time.Time) bool {
	if e.report.Report.Load() == nil || e.blind.why != "" || !e.Loaded {
		return false
	}
	if js := e.ByID[id]; js == nil {
		detail, err := e.Observer.Slurm.Job(ctx, slurm.JobID(id))
		if err != nil || detail.ID != slurm.JobID(id) || !elastic.Tagged(detail.Comment) || !e.Mine(detail.Job) || detail.Array || detail.Het {
			return false
		}
		tag, err := elastic.ParseTag(detail.Comment)
		if err != nil {
			return false // the next cycle says so
		}
		e.AskOwners([]slurm.Job{detail.Job}, now)
		e.Take(detail.Job, tag, e.Observer.CheckFolders(e.Claims([]slurm.Job{detail.Job})), now)
	}
	js := e.ByID[id]
	if js == nil || !js.Shown.Seen || js.Shown.Disown || !js.Rec.Ended.IsZero() {
		return false
	}
	e.report.ChangeJobs(func(r *publish.Report) {
		if !slices.ContainsFunc(r.Jobs, func(jr publish.JobReport) bool { return jr.Record.Token == js.Rec.Token }) {
			var jr publish.JobReport
			e.report.ReportOf(&jr, js, elastic.Plan{})
			e.Learnt.Fit(e.KeysOf(js.Rec), now)
			job := e.JobOf(js, now)
			jr.Job, jr.Why = &job, nil // no decision yet; callers that need one wait for the next cycle
			r.Jobs = append([]publish.JobReport{jr}, r.Jobs...)
		}
	})
	return true
}

// Refresh updates the report from the progress files of running jobs, at most watch.MostFresh, those
// read longest ago first. It does not query Slurm. It MUST be called between two cycles.
func (e *Engine) Refresh(now time.Time) {
	if r := e.report.Report.Load(); r == nil || r.Blind != "" || !e.Loaded {
		return
	}
	var running []*track.Job
	for _, js := range e.Ordered() {
		if js.Shown.Seen && !js.Shown.Disown && js.Rec.Ended.IsZero() && js.Shown.Slurm.State == slurm.Running {
			running = append(running, js)
		}
	}
	slices.SortStableFunc(running, func(a, b *track.Job) int { return a.Mail.Heard.Compare(b.Mail.Heard) })
	changed := map[string]*track.Job{}
	for _, js := range e.ReadProgress(running[:min(len(running), watch.MostFresh)], now) {
		changed[js.Rec.Token] = js
	}
	if len(changed) == 0 {
		return
	}
	trials := e.report.Trials()
	e.report.ChangeJobs(func(r *publish.Report) {
		for i := range r.Jobs {
			jr := &r.Jobs[i]
			js := changed[jr.Record.Token]
			if js == nil || jr.Ended {
				continue
			}
			lazy, fresh := js.Learnt.Doubted(js.Learnt.Renew(&js.Rec.Tag.Spec, e.Learnt.Fit(e.KeysOf(js.Rec), now)).On(jr.Kind))
			if fresh {
				js.Learnt.Lazy = lazy
			}
			job := *jr.Job // a copy: readers may hold the old report
			job.Done, job.Speaks, job.Curve = js.Rec.Done, js.Rec.Speaks || js.Rec.Tag.Spec.Signal != "", lazy.Curve
			jr.Record, jr.Job, jr.ETA = js.Rec, &job, publish.ETA(&job, jr.Kind, now)
			jr.Trial = trials[js.Rec.Token]
			if js.Runs.Seg != nil {
				jr.Run = *js.Runs.Seg
			}
		}
	})
}
