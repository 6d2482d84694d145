package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// runnerWord is what the runner of the present run said last.
type runnerWord struct {
	word checkpoint.Runner
	ok   bool // it is about the present run
}

// Writing are the jobs whose folders are read: they run, or ended since the last look.
func (ro *Roster) Writing() (out []*Job) {
	for _, js := range ro.Ordered() {
		if js.Shown.Seen && !js.Shown.Disown && js.Rec.Ended.IsZero() && !js.idle() {
			out = append(out, js)
		}
	}
	return out
}

// BoxesOf are the folders of jobs.
func BoxesOf(jobs []*Job) []observe.Box {
	out := make([]observe.Box, len(jobs))
	for i, js := range jobs {
		out[i] = js.Box()
	}
	return out
}

// Box is the job's folder.
func (js *Job) Box() observe.Box { return observe.Box{Token: js.Rec.Token, UID: js.Rec.UID} }

// HeardRunners takes in what the runners of jobs said, in the same order.
func (st *State) HeardRunners(jobs []*Job, words []observe.Word, now time.Time) {
	for i, js := range jobs {
		js.heardRunner(words[i], now)
		st.tellRun(js, now)
	}
}

func (js *Job) heardRunner(w observe.Word, now time.Time) {
	if !js.Mail.AnswersBy(w.Err) {
		js.lateWord(now)
		return
	}
	if w.Err != nil {
		js.Tells.Problem["runner"] = w.Err.Error()
		js.Mail.runner, js.Mail.quiet = runnerWord{}, quiet{}
		return
	}
	delete(js.Tells.Problem, "runner")
	js.Mail.runner = runnerWord{word: w.Runner, ok: w.OK && current(w.Runner, js.Shown.Slurm)}
	js.noteBeat(now)
	if a := w.Runner.Answer; js.Mail.runner.ok && a != nil && a.Checkpoint != "" {
		js.Mail.Kept = a
	}
	if js.Mail.runner.ok && w.Runner.Note != "" {
		js.Tells.Problem["note"] = w.Runner.Note
	} else {
		delete(js.Tells.Problem, "note")
	}
	js.retrace()
}

// current reports whether the runner's word is about the present run. A
// controller that lost its last minutes shows fewer restarts than there were,
// and the runner, who was there, is right; a word from before the run's start is
// of an earlier one.
func current(word checkpoint.Runner, sj slurm.Job) bool {
	return word.Restarts >= sj.Restarts && !word.Beat.Before(sj.Start)
}

// Restarts is the number of the present run, from who knows best.
func (js *Job) Restarts() int {
	if js.Mail.runner.ok {
		return js.Mail.runner.word.Restarts
	}
	return js.Shown.Slurm.Restarts
}
