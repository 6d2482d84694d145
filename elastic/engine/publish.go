package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// publish hands the cycle's result to readers, whole.
func (e *Engine) publish(snap elastic.Snapshot, plan elastic.Plan, now time.Time) {
	snap.Intents = slices.Clone(e.open)
	e.last, e.sealed = snap.Lent(), true
	r := &Report{At: now, Policy: e.cfg.Policy.Name, Nodes: eligible.NodesAsInSlurm(snap.Nodes), Demands: eligible.DemandsAsInSlurm(snap.Demands), Health: e.health.Findings(e.cfg.Health)}
	jobs := make(map[elastic.JobID]*elastic.Job, len(snap.Jobs))
	for i := range snap.Jobs {
		jobs[snap.Jobs[i].ID] = &snap.Jobs[i]
	}
	var ended []*jobState
	order := e.ordered()
	r.Jobs = slices.Grow(e.report.room(), len(order))
	for _, js := range order {
		if !js.rec.Ended.IsZero() {
			ended = append(ended, js)
			continue
		}
		jr := r.next()
		old := jr.Job
		e.reportOf(jr, js, plan)
		if j := jobs[js.rec.ID]; j != nil {
			jr.Job = copyOf(j, old)
		}
		if len(jr.Job.Place) > 0 {
			jr.Kind = snap.Kind(jr.Job, jr.Job.Place)
		}
		jr.ETA = etaOf(jr.Job, jr.Kind, now)
		if due := jr.Record.Tag.Spec.Deadline; jr.Due == elastic.DueUnjudged && jr.Record.Promised && due.After(now) {
			jr.Promised, jr.Due = true, elastic.DuePromised // as it was promised, until a decision says otherwise
		}
		jr.Gauged, jr.Utilisation = js.learnt.gauged.known && jr.Job.Phase == elastic.Running, js.learnt.gauged.share
	}
	for _, js := range ended {
		jr := r.next()
		e.reportOf(jr, js, plan)
		jr.Ended, jr.Ending, jr.Why = true, js.ending(), nil
	}
	e.report.replace(r)
	e.forgetOld(now)
}

// publishBlind repeats the last report with the reason nothing newer is there.
func (e *Engine) publishBlind(now time.Time) {
	r := Report{Policy: e.cfg.Policy.Name}
	if last := e.report.last.Load(); last != nil {
		r = *last
	}
	r.Blind, r.BlindFor = e.blind.why, now.Sub(e.blind.since)
	e.report.last.Store(&r)
}

func (e *Engine) reportOf(jr *JobReport, js *jobState, plan elastic.Plan) {
	*jr = JobReport{Record: js.rec, Job: &noJob, Why: js.tells.said.Why, Policy: e.cfg.Policy.Of(js.rec.Partition).Name, Promised: js.tells.said.Promised, Ends: js.tells.said.Ends, Due: js.tells.said.Due, Last: js.tells.last, Kept: js.mail.kept, LastWords: cmp.Or(js.over.words, js.rec.Ending.Words), Target: plan.Target[js.rec.ID]}
	if js.runs.seg != nil {
		jr.Run = *js.runs.seg
	}
	for _, source := range slices.Sorted(maps.Keys(js.tells.problem)) {
		jr.Problems = append(jr.Problems, js.tells.problem[source])
	}
	for _, in := range e.open {
		if in.Job == js.rec.ID {
			copied := in
			jr.Intent, jr.Target = &copied, in.Target
		}
	}
}

// copyOf copies a job to where an older report had one, if it had.
func copyOf(j, old *elastic.Job) *elastic.Job {
	if old == nil || old == &noJob {
		old = new(elastic.Job)
	}
	*old = *j
	return old
}

// etaOf is the expected end at the present size; zero when unknown.
func etaOf(j *elastic.Job, kind string, now time.Time) time.Time {
	left, ok := j.Remaining()
	if !ok || j.Phase != elastic.Running || j.Curve.Samples() == 0 {
		return time.Time{}
	}
	seconds, _ := j.Curve.On(kind).Seconds(speed.Shape{GPUs: j.GPUs(), Nodes: len(j.Place)})
	return now.Add(time.Duration(left * seconds * float64(time.Second)))
}
