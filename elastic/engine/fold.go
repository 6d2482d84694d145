package engine

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// ordered returns all known jobs by first submit, then id: the order of service. It is the
// same slice until a job comes or is forgotten, and MUST NOT be changed.
func (st *State) ordered() []*jobState {
	if st.order != nil {
		return st.order
	}
	out := make([]*jobState, 0, len(st.jobs))
	for _, js := range st.jobs {
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
	st.order = out
	return out
}

// wantsHistory reports whether fold needs the history of a job.
func (st *State) wantsHistory(js *jobState) bool {
	return js.shown.seen && js.rec.Ended.IsZero() &&
		(!js.runs.counted && !js.rec.FirstRun.IsZero() || js.begins() || js.shown.slurm.State.Ended() && js.lacksRun())
}

// ends are the jobs that fold will find ended. What their runners said last is read BEFORE.
func (st *State) ends(now time.Time) (out []*jobState) {
	for _, js := range st.ordered() {
		if js.shown.seen && js.rec.Ended.IsZero() && st.hasEnded(js, now) {
			out = append(out, js)
		}
	}
	return out
}

// hasEnded reports whether Slurm shows the end of the job, and nothing brings it back.
func (st *State) hasEnded(js *jobState, now time.Time) bool {
	sj := js.shown.slurm
	return sj.State.Ended() && !sj.Completing && !st.open.reviving(js) && !st.wronged(js, now)
}

// fold brings every record up to what was seen. histories are those of jobs that want them, words
// what the runners of jobs that end said last, by token.
func (st *State) fold(histories map[string]observe.History, words map[string]observe.Word, now time.Time) {
	for _, js := range st.ordered() {
		if !js.shown.seen || !js.rec.Ended.IsZero() {
			continue
		}
		js.recount(histories[js.rec.Token])
		js.foldCourse(now)
		js.foldBarred()
		sj := js.shown.slurm
		if word := string(sj.State); js.rec.State != word {
			js.rec.State, js.dirty = word, true
		}
		switch {
		case sj.State == slurm.Running:
			st.foldRunning(js, histories[js.rec.Token], now)
		case st.hasEnded(js, now):
			takeSegments([]*jobState{js}, histories)
			st.ended(js, string(sj.State), words[js.rec.Token], now)
		case sj.State == slurm.Pending && !sj.Completing:
			st.mourn(js, now)
			js.shown.outside = js.shown.outside || js.runs.seg != nil && js.runs.seg.Ended.IsZero() && !st.open.stopped(js.rec.ID)
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

func (st *State) foldRunning(js *jobState, history observe.History, now time.Time) {
	if js.rec.FirstRun.IsZero() {
		js.rec.FirstRun, js.dirty = now, true
	}
	if js.begins() {
		st.beginSegment(js, history, now)
	}
}

// foldProgress takes one line of a job's progress file. Lines are the job's own
// word and only ever concern the job itself. Its speed is kept only where sampled says so.
func (st *State) foldProgress(js *jobState, line checkpoint.Progress, now time.Time, sampled bool) {
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
			st.foldPace(js, line, now)
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
		st.foldSample(js, line, now)
	}
}

// foldSample keeps a speed only when the line comes from the present run and
// agrees with the GPUs Slurm gave it.
func (st *State) foldSample(js *jobState, line checkpoint.Progress, now time.Time) {
	place, ok := js.placeOf(line)
	if !ok || !st.sameUnit(js.rec, line) {
		return
	}
	s := st.sample(js, place, line.Seconds, now)
	st.learnt.Keep(st.modelOf(js.rec), s)
	js.learnt.fresh = append(js.learnt.fresh, s)
}

// foldPace keeps how long a step took, likewise.
func (st *State) foldPace(js *jobState, line checkpoint.Progress, now time.Time) {
	place, ok := js.placeOf(line)
	if !ok || line.Pace <= 0 || line.Steps < 1 {
		return
	}
	s := st.sample(js, place, line.Pace, now)
	st.learnt.Keep(st.paceOf(js.rec), s)
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

// modelOf is the key under which a job's speeds are kept. Jobs that count in
// different units never share.
func (st *State) modelOf(rec journal.JobRecord) string {
	return st.keyOf(rec, string(st.unitOf(rec)))
}

// paceOf is the key under which the time of a job's steps is kept, whatever it
// counts in.
func (st *State) paceOf(rec journal.JobRecord) string { return st.keyOf(rec, string(learn.Pace)) }

// keysOf are both.
func (st *State) keysOf(rec journal.JobRecord) learn.Keys {
	return learn.Keys{Units: st.modelOf(rec), Steps: st.paceOf(rec)}
}

// livingKeys are those of the jobs that have not ended, in the order of service.
func (st *State) livingKeys() iter.Seq[learn.Keys] {
	return func(yield func(learn.Keys) bool) {
		for _, js := range st.ordered() {
			if js.rec.Ended.IsZero() && !yield(st.keysOf(js.rec)) {
				return
			}
		}
	}
}

// keyOf is learner and a unit.
func (st *State) keyOf(rec journal.JobRecord, unit string) string {
	if rec.Tag.Spec.Model != "" {
		return st.learner(rec) + "/" + unit
	}
	return "job:" + rec.Token + "/" + unit
}

// learner is who learns from the job: itself alone, its user's jobs of that model, or
// everybody's. Speeds are the job's own word, so that a false one could slow the jobs of
// all who share it.
func (st *State) learner(rec journal.JobRecord) string {
	if model := rec.Tag.Spec.Model; model != "" {
		return st.learnerOf(rec.UID, model)
	}
	return "job:" + rec.Token
}

// learnerOf is who learns from a user's jobs of a model.
func (st *State) learnerOf(uid uint32, model string) string {
	if st.Rules.ShareSpeeds {
		return "model:" + model
	}
	return fmt.Sprintf("user:%d/model:%s", uid, model)
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
