package track

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Ordered returns all known jobs by first submit, then id: the order of service. It is the
// same slice until a job is added or removed, and MUST NOT be changed.
func (ro *Roster) Ordered() []*Job {
	if ro.order != nil {
		return ro.order
	}
	out := make([]*Job, 0, len(ro.Jobs))
	for _, js := range ro.Jobs {
		out = append(out, js)
	}
	slices.SortFunc(out, func(a, b *Job) int {
		if c := a.Rec.Submitted.Compare(b.Rec.Submitted); c != 0 {
			return c
		}
		if a.Rec.ID != b.Rec.ID {
			return int(a.Rec.ID - b.Rec.ID)
		}
		return slices.Compare([]byte(a.Rec.Token), []byte(b.Rec.Token))
	})
	ro.order = out
	return out
}

// WantsHistory reports whether Fold needs the history of a job. That is once for a job that ran
// before this daemon started, at each new run, and at the end of a job that this daemon never saw
// running; and again as long as it could not be read.
func (st *State) WantsHistory(js *Job) bool {
	return js.Runs.unread || js.Shown.Seen && js.Rec.Ended.IsZero() &&
		(!js.Runs.counted && !js.Rec.FirstRun.IsZero() || js.begins() || js.Shown.Slurm.State.Ended() && js.LacksRun())
}

// Ends returns the jobs that Fold will end. Their runners' last status MUST be read BEFORE Fold.
func (st *State) Ends(now time.Time) (out []*Job) {
	for _, js := range st.Ordered() {
		if js.Shown.Seen && js.Rec.Ended.IsZero() && st.hasEnded(js, now) {
			out = append(out, js)
		}
	}
	return out
}

// hasEnded reports whether Slurm shows the end of the job, and it will not be requeued.
func (st *State) hasEnded(js *Job, now time.Time) bool {
	sj := js.Shown.Slurm
	return sj.State.Ended() && !sj.Completing && !st.Open.reviving(js) && !st.mayRequeue(js, now)
}

// Fold updates every record from the observation. By token, histories are the past runs of the
// jobs for which WantsHistory is true, and words the last status of the runners of Ends. Jobs that
// Slurm did not show in this look keep what they have. Earlier runs are summed BEFORE the course is
// judged, which needs them. A history that could not be read delays both, and the rows of runs that begin.
func (st *State) Fold(histories map[string]observe.History, words map[string]observe.Word, now time.Time) {
	for _, js := range st.Ordered() {
		js.Runs.join(histories[js.Rec.Token])
		if !js.Shown.Seen || !js.Rec.Ended.IsZero() {
			continue
		}
		js.recount(histories[js.Rec.Token])
		js.foldCourse(now)
		js.foldBarred()
		sj := js.Shown.Slurm
		if word := string(sj.State); js.Rec.State != word {
			js.Rec.State, js.Dirty = word, true
		}
		switch {
		case sj.State == slurm.Running:
			st.Open.foldRunning(js, histories[js.Rec.Token], now)
		case st.hasEnded(js, now):
			TakeSegments([]*Job{js}, histories)
			st.Ended(js, string(sj.State), words[js.Rec.Token], now)
		case sj.State == slurm.Pending && !sj.Completing:
			st.Open.delayUnexplained(js, now)
			js.Shown.outside = js.Shown.outside || js.Runs.Seg != nil && js.Runs.Seg.Ended.IsZero() && !st.Open.stopped(js.Rec.ID)
			js.Runs.end(now)
		}
	}
}

// foldBarred records whether Slurm itself holds the job because of its dependency.
func (js *Job) foldBarred() {
	if now := eligible.Barred(js.Shown.Slurm, js.Rec.Barred, js.Placing.blocked.Code); now != js.Rec.Barred {
		js.Rec.Barred, js.Dirty = now, true
	}
}

// reviving reports whether an open move requeues a job that Slurm shows as ended. Such a job has not
// ended. Only a move from step Verified on can be the cause: before it nothing was stopped.
func (open Moves) reviving(js *Job) bool {
	for _, in := range open {
		if in.Job == js.Rec.ID && in.Step >= elastic.Verified {
			return js.Shown.Slurm.State == slurm.Failed && (!js.Mail.runner.ok || in.Kind == elastic.Revival || in.Fallbacks > 0 || in.Stopped() && js.Shown.Slurm.Restarts <= in.Restarts) ||
				js.Shown.Slurm.State == slurm.Cancelled && in.Kind == elastic.Clearing
		}
	}
	return false
}

func (open Moves) foldRunning(js *Job, history observe.History, now time.Time) {
	if js.Rec.FirstRun.IsZero() {
		js.Rec.FirstRun, js.Dirty = now, true
	}
	if js.begins() {
		open.beginSegment(js, history, now)
	}
}

// foldProgress applies one line of a job's progress file. A line is the job's own report and
// affects that job alone. Its speed is kept only if sampled is true.
//
//	event        what follows
//	hello        the program speaks
//	pace         a sample of seconds a step, if sampled
//	resumed      where the run began; Done
//	progress     Done; a sample of seconds a unit, if sampled
//
// The first line of a run also ends the load part of its resize. Of a program that saves on its own
// only a progress line does.
func (st *State) foldProgress(js *Job, line checkpoint.Progress, now time.Time, sampled bool) {
	// For a program that saves on its own, the runner writes "hello" once it has adopted
	// the first checkpoint, and "progress" from the program's log.
	habit := js.Rec.Tag.Spec.Habit
	if !js.Rec.Speaks && (!habit || line.Event == "hello") {
		js.Rec.Speaks, js.Dirty = true, true
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
	js.Rec.Done, js.Dirty = line.Done, true
	if js.Runs.Seg != nil && js.Runs.Seg.Restarts == line.Restarts {
		js.Runs.Seg.DoneTo = line.Done
		if line.Seconds > 0 {
			js.Runs.Seg.Seconds = line.Seconds
		}
		js.Runs.segNew = true
	}
	if sampled && line.Event == "progress" && line.Seconds > 0 && line.GPUs > 0 {
		st.foldSample(js, line, now)
	}
}

// foldSample stores a speed if the line is from the present run and reports the number of GPUs
// that Slurm allocated.
func (st *State) foldSample(js *Job, line checkpoint.Progress, now time.Time) {
	place, ok := js.placeOf(line)
	if !ok || !st.sameUnit(js.Rec, line) {
		return
	}
	s := st.sample(js, place, line.Seconds, now)
	if js.Rec.Tag.Spec.Sweep != "" {
		if s, ok = js.Learnt.levelled.takeOut(s, st.Learnt.Fit(st.KeysOf(js.Rec), now)); !ok {
			return
		}
	}
	st.Learnt.Keep(st.modelOf(js.Rec), s)
	js.Learnt.fresh = append(js.Learnt.fresh, s)
}

// foldPace stores the seconds of a step, under the same conditions. Those of a trial have a level of their own: a trial
// with longer steps may have fewer of them in an epoch.
func (st *State) foldPace(js *Job, line checkpoint.Progress, now time.Time) {
	place, ok := js.placeOf(line)
	if !ok || line.Pace <= 0 || line.Steps < 1 {
		return
	}
	key := st.Rules.paceOf(js.Rec)
	s := st.sample(js, place, line.Pace, now)
	if js.Rec.Tag.Spec.Sweep != "" {
		if s, ok = js.Learnt.paced.takeOut(s, speed.Fit(st.Learnt.Recall(key), now)); !ok {
			return
		}
	}
	st.Learnt.Keep(key, s)
	js.Learnt.paces = append(js.Learnt.paces, s)
}

// placeOf returns the placement of the present run; false if the line is about another run or
// reports another number of GPUs. A run seen for the first time has no segment yet.
func (js *Job) placeOf(line checkpoint.Progress) (nodes.Placement, bool) {
	place, restarts := js.Rec.Place, js.Rec.Restarts
	if js.Runs.Seg != nil && js.Runs.Seg.Restarts == line.Restarts {
		place, restarts = js.Runs.Seg.Place, js.Runs.Seg.Restarts
	}
	return place, line.Restarts == restarts && line.GPUs == place.GPUs() && line.GPUs > 0
}

// modelOf returns the key of a job's speeds. Jobs that count work in different units never
// share a key.
func (st *State) modelOf(rec journal.JobRecord) string {
	return st.Rules.keyOf(rec, string(st.unitOf(rec)))
}

// paceOf returns the key of the job's step times, whatever its unit of work.
func (ru *Rules) paceOf(rec journal.JobRecord) string { return ru.keyOf(rec, string(learn.Pace)) }

// KeysOf returns both keys.
func (st *State) KeysOf(rec journal.JobRecord) learn.Keys {
	return learn.Keys{Units: st.modelOf(rec), Steps: st.Rules.paceOf(rec)}
}

// LivingKeys yields the keys of the jobs that have not ended, in the order of service.
func (st *State) LivingKeys() iter.Seq[learn.Keys] {
	return func(yield func(learn.Keys) bool) {
		for _, js := range st.Ordered() {
			if js.Rec.Ended.IsZero() && !yield(st.KeysOf(js.Rec)) {
				return
			}
		}
	}
}

// keyOf joins the learner and a unit. Examples: "model:bert/epoch" (ShareSpeeds),
// "user:1000/model:bert/step", "job:TOKEN/pace".
func (ru *Rules) keyOf(rec journal.JobRecord, unit string) string {
	if rec.Tag.Spec.Model != "" {
		return ru.learner(rec) + "/" + unit
	}
	return "job:" + rec.Token + "/" + unit
}

// learner returns the name of the group of jobs that share the job's speeds: the job alone, its
// user's jobs of that model, or all users' (ShareSpeeds). Speeds are the job's own report, so
// that a false one affects every job of the group.
func (ru *Rules) learner(rec journal.JobRecord) string {
	if model := rec.Tag.Spec.Model; model != "" {
		return ru.LearnerOf(rec.Owner.UID, model)
	}
	return "job:" + rec.Token
}

// LearnerOf returns the group that shares the speeds of a user's jobs of a model.
func (ru *Rules) LearnerOf(uid uint32, model string) string {
	if ru.ShareSpeeds {
		return "model:" + model
	}
	return fmt.Sprintf("user:%d/model:%s", uid, model)
}

// foldLoad measures the load part of a resize: from the start of the script (FirstLine) to the
// program's first progress line.
func (js *Job) foldLoad(line checkpoint.Progress) {
	if js.Runs.Seg == nil || js.Runs.Seg.Price.Load > 0 || line.Restarts != js.Runs.Seg.Restarts || !js.Mail.runner.ok {
		return
	}
	first := js.Mail.runner.word.FirstLine
	load := time.Duration(line.Time*float64(time.Second)) - time.Duration(first.UnixNano())
	if first.IsZero() || load <= 0 || load > time.Hour {
		return
	}
	js.Runs.Seg.Price.Load, js.Runs.segNew = load, true
	js.Rec.Price.Load = blend(js.Rec.Price.Load, load, js.Rec.Price.Measured)
}

// blend merges a new measurement into a known one: the first measurement replaces the site's
// default, each later one has weight 1/2. So a price follows a change within a few moves, and one odd
// move counts little after some more. times is how often the price was measured before.
func blend(known, measured time.Duration, times int) time.Duration {
	if times == 0 || known == 0 {
		return measured
	}
	return (known + measured) / 2
}
