package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// ordered returns all known jobs by first submit, then id: the order of service. It is the
// same slice until a job comes or is forgotten, and MUST NOT be changed.
func (e *Engine) ordered() []*jobState {
	if e.order != nil {
		return e.order
	}
	out := make([]*jobState, 0, len(e.jobs))
	for _, js := range e.jobs {
		out = append(out, js)
	}
	slices.SortFunc(out, func(a, b *jobState) int {
		if c := a.rec.Submitted.Compare(b.rec.Submitted); c != 0 {
			return c
		}
		if a.rec.ID != b.rec.ID {
			return int(a.rec.ID - b.rec.ID)
		}
		return slices.Compare([]byte(a.rec.Token), []byte(b.rec.Token))
	})
	e.order = out
	return out
}

// fold brings every record up to what was seen.
func (e *Engine) fold(ctx context.Context, v view, now time.Time) {
	for _, js := range e.ordered() {
		if !js.shown.seen || !js.rec.Ended.IsZero() {
			continue
		}
		e.recount(ctx, js)
		js.foldCourse(now)
		js.foldBarred()
		sj := js.shown.slurm
		if word := string(sj.State); js.rec.State != word {
			js.rec.State, js.dirty = word, true
		}
		switch {
		case sj.State == slurm.Running:
			e.foldRunning(ctx, js, now)
		case sj.State.Ended() && !sj.Completing && !e.open.reviving(js) && !e.wronged(js, now):
			e.takeSegment(ctx, js)
			e.ended(js, string(sj.State), now)
			_ = e.cfg.Mailbox.Forget(js.rec.Token) // swept again by nobody: the folder is small and harmless
		case sj.State == slurm.Pending && !sj.Completing:
			e.mourn(js, now)
			js.shown.outside = js.shown.outside || js.runs.seg != nil && js.runs.seg.Ended.IsZero() && !e.open.stopped(js.rec.ID)
			js.runs.end(now)
		}
	}
}

// foldBarred notes whether Slurm itself holds the job.
func (js *jobState) foldBarred() {
	if now := eligible.Barred(js.shown.slurm, js.rec.Barred, js.placing.blocked.Code); now != js.rec.Barred {
		js.rec.Barred, js.dirty = now, true
	}
}

// reviving reports whether an open move is bringing an ended job back.
func (open openMoves) reviving(js *jobState) bool {
	for _, in := range open {
		if in.Job == js.rec.ID && in.Step >= elastic.Verified {
			return js.shown.slurm.State == slurm.Failed && (!js.mail.runner.ok || in.Kind == elastic.Revival || in.Fallbacks > 0 || in.Stopped() && js.shown.slurm.Restarts <= in.Restarts) ||
				js.shown.slurm.State == slurm.Cancelled && in.Kind == elastic.Clearing
		}
	}
	return false
}

func (e *Engine) foldRunning(ctx context.Context, js *jobState, now time.Time) {
	if js.rec.FirstRun.IsZero() {
		js.rec.FirstRun, js.dirty = now, true
	}
	if js.rec.Restarts != js.shown.slurm.Restarts {
		return // its split is not known yet
	}
	if js.runs.seg != nil && js.runs.seg.Restarts == js.restarts() && js.runs.seg.Ended.IsZero() {
		return
	}
	e.beginSegment(ctx, js, now)
}

// foldProgress takes one line of a job's progress file. Lines are the job's own
// word and only ever concern the job itself. Its speed is kept only where sampled says so.
func (e *Engine) foldProgress(js *jobState, line checkpoint.Progress, now time.Time, sampled bool) {
	// Of a program that saves by its own habit the runner says hello, when it has
	// adopted a checkpoint for the first time; progress it reads from the log.
	habit := js.rec.Tag.Spec.Habit
	if !js.rec.Speaks && (!habit || line.Event == "hello") {
		js.rec.Speaks, js.dirty = true, true
	}
	if !habit || line.Event == "progress" {
		js.foldLoad(line)
	}
	switch line.Event {
	case "hello":
		return
	case "pace":
		if sampled {
			e.foldPace(js, line, now)
		}
		return
	}
	js.resumedAt(line)
	js.rec.Done, js.dirty = line.Done, true
	if js.runs.seg != nil && js.runs.seg.Restarts == line.Restarts {
		js.runs.seg.DoneTo = line.Done
		if line.Seconds > 0 {
			js.runs.seg.Seconds = line.Seconds
		}
		js.runs.segNew = true
	}
	if sampled && line.Event == "progress" && line.Seconds > 0 && line.GPUs > 0 {
		e.foldSample(js, line, now)
	}
}

// foldSample keeps a speed only when the line comes from the present run and
// agrees with the GPUs Slurm gave it.
func (e *Engine) foldSample(js *jobState, line checkpoint.Progress, now time.Time) {
	place, ok := js.placeOf(line)
	if !ok || !e.sameUnit(js.rec, line) {
		return
	}
	s := e.sample(js, place, line.Seconds, now)
	e.keep(e.modelOf(js.rec), s)
	js.learnt.fresh = append(js.learnt.fresh, s)
}

// foldPace keeps how long a step took, likewise.
func (e *Engine) foldPace(js *jobState, line checkpoint.Progress, now time.Time) {
	place, ok := js.placeOf(line)
	if !ok || line.Pace <= 0 || line.Steps < 1 {
		return
	}
	s := e.sample(js, place, line.Pace, now)
	e.keep(e.paceOf(js.rec), s)
	js.learnt.paces = append(js.learnt.paces, s)
}

// placeOf is where the present run is, if the line is about it and its program found
// the GPUs that Slurm gave. A run seen for the first time has no segment yet.
func (js *jobState) placeOf(line checkpoint.Progress) (nodes.Placement, bool) {
	place, restarts := js.rec.Place, js.rec.Restarts
	if js.runs.seg != nil && js.runs.seg.Restarts == line.Restarts {
		place, restarts = js.runs.seg.Place, js.runs.seg.Restarts
	}
	return place, line.Restarts == restarts && line.GPUs == place.GPUs() && line.GPUs > 0
}

// keep takes in a sample of a model's.
func (e *Engine) keep(key string, s speed.Sample) {
	e.samples[key] = append(e.recall(key), s)
	if over := len(e.samples[key]) - MaxSamples; over > 0 {
		e.samples[key] = e.samples[key][over:]
	}
	model := key[:strings.LastIndexByte(key, '/')]
	for _, unit := range []elastic.Unit{elastic.Epochs, elastic.Steps} { // a pace is behind both
		delete(e.curves, model+"/"+string(unit))
	}
}

// modelOf is the key under which a job's speeds are kept. Jobs that count in
// different units never share.
func (e *Engine) modelOf(rec JobRecord) string {
	return e.keyOf(rec, string(e.unitOf(rec)))
}

// paceOf is the key under which the time of a job's steps is kept, whatever it
// counts in.
func (e *Engine) paceOf(rec JobRecord) string { return e.keyOf(rec, "pace") }

// keyOf is learner and a unit.
func (e *Engine) keyOf(rec JobRecord, unit string) string {
	if rec.Tag.Spec.Model != "" {
		return e.learner(rec) + "/" + unit
	}
	return "job:" + rec.Token + "/" + unit
}

// learner is who learns from the job: itself alone, its user's jobs of that model, or
// everybody's. Speeds are the job's own word, so that a false one could slow the jobs of
// all who share it.
func (e *Engine) learner(rec JobRecord) string {
	if model := rec.Tag.Spec.Model; model != "" {
		return e.learnerOf(rec.UID, model)
	}
	return "job:" + rec.Token
}

// learnerOf is who learns from a user's jobs of a model.
func (e *Engine) learnerOf(uid uint32, model string) string {
	if e.cfg.ShareSpeeds {
		return "model:" + model
	}
	return fmt.Sprintf("user:%d/model:%s", uid, model)
}

// recall returns a model's samples, from the store the first time.
func (e *Engine) recall(key string) []speed.Sample {
	if got, ok := e.samples[key]; ok {
		return got
	}
	got, err := e.cfg.Samples.Samples(context.Background(), key, MaxSamples)
	if err != nil {
		return nil // asked again; a curve without history is only slower to learn
	}
	e.samples[key] = got
	return got
}

func (e *Engine) curveOf(rec JobRecord, now time.Time) *speed.Curve {
	key := e.modelOf(rec)
	if c, ok := e.curves[key]; ok {
		return c
	}
	c := speed.FitWith(e.recall(key), e.recall(e.paceOf(rec)), now)
	if f := e.foreseen[e.telling(rec)]; f != nil && f.choice != nil {
		c = c.Foretell(f.answer)
	}
	e.curves[key] = c
	return c
}

// foldLoad measures the load part of a move: from the script's first line to the
// program's first word.
func (js *jobState) foldLoad(line checkpoint.Progress) {
	if js.runs.seg == nil || js.runs.seg.Price.Load > 0 || line.Restarts != js.runs.seg.Restarts || !js.mail.runner.ok {
		return
	}
	first := js.mail.runner.word.FirstLine
	load := time.Duration(line.Time*float64(time.Second)) - time.Duration(first.UnixNano())
	if first.IsZero() || load <= 0 || load > time.Hour {
		return
	}
	js.runs.seg.Price.Load, js.runs.segNew = load, true
	js.rec.Price.Load = blend(js.rec.Price.Load, load, js.rec.Price.Measured)
}

// blend averages a new measurement into what is known: the first replaces the
// site's default, later ones weigh a half.
func blend(known, measured time.Duration, times int) time.Duration {
	if times == 0 || known == 0 {
		return measured
	}
	return (known + measured) / 2
}
