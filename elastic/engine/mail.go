package engine

import (
	"time"

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
func boxesOf(jobs []*jobState) []box {
	out := make([]box, len(jobs))
	for i, js := range jobs {
		out[i] = js.box()
	}
	return out
}

func (js *jobState) box() box { return box{js.rec.Token, js.rec.UID} }

// heardRunners takes in what the runners of jobs said, in the same order.
func (st *State) heardRunners(jobs []*jobState, words []word, now time.Time) {
	for i, js := range jobs {
		js.heardRunner(words[i], now)
		st.tellRun(js, now)
	}
}

func (js *jobState) heardRunner(w word, now time.Time) {
	if !js.mail.answersBy(w.err) {
		js.lateWord(now)
		return
	}
	if w.err != nil {
		js.tells.problem["runner"] = w.err.Error()
		js.mail.runner, js.mail.quiet = runnerWord{}, quiet{}
		return
	}
	delete(js.tells.problem, "runner")
	js.mail.runner = runnerWord{word: w.runner, ok: w.ok && current(w.runner, js.shown.slurm)}
	js.noteBeat(now)
	if a := w.runner.Answer; js.mail.runner.ok && a != nil && a.Checkpoint != "" {
		js.mail.kept = a
	}
	if js.mail.runner.ok && w.runner.Note != "" {
		js.tells.problem["note"] = w.runner.Note
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
