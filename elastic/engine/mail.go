package engine

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/slurm"
)

// runnerWord is what the runner of the present run said last.
type runnerWord struct {
	word checkpoint.Runner
	ok   bool // it is about the present run
}

// writing are the jobs whose folders are read: they run, or ended since the last look.
func (st *State) writing() (out []*jobState) {
	for _, js := range st.ordered() {
		if js.shown.seen && !js.shown.disown && js.rec.Ended.IsZero() && !js.idle() {
			out = append(out, js)
		}
	}
	return out
}

// boxesOf are the folders of jobs.
func boxesOf(jobs []*jobState) []observe.Box {
	out := make([]observe.Box, len(jobs))
	for i, js := range jobs {
		out[i] = js.box()
	}
	return out
}

func (js *jobState) box() observe.Box { return observe.Box{Token: js.rec.Token, UID: js.rec.UID} }

// heardRunners takes in what the runners of jobs said, in the same order.
func (st *State) heardRunners(jobs []*jobState, words []observe.Word, now time.Time) {
	for i, js := range jobs {
		js.heardRunner(words[i], now)
		st.tellRun(js, now)
	}
}

func (js *jobState) heardRunner(w observe.Word, now time.Time) {
	if !js.mail.answersBy(w.Err) {
		js.lateWord(now)
		return
	}
	if w.Err != nil {
		js.tells.problem["runner"] = w.Err.Error()
		js.mail.runner, js.mail.quiet = runnerWord{}, quiet{}
		return
	}
	delete(js.tells.problem, "runner")
	js.mail.runner = runnerWord{word: w.Runner, ok: w.OK && current(w.Runner, js.shown.slurm)}
	js.noteBeat(now)
	if a := w.Runner.Answer; js.mail.runner.ok && a != nil && a.Checkpoint != "" {
		js.mail.kept = a
	}
	if js.mail.runner.ok && w.Runner.Note != "" {
		js.tells.problem["note"] = w.Runner.Note
	} else {
		delete(js.tells.problem, "note")
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

// restarts is the number of the present run, from who knows best.
func (js *jobState) restarts() int {
	if js.mail.runner.ok {
		return js.mail.runner.word.Restarts
	}
	return js.shown.slurm.Restarts
}
