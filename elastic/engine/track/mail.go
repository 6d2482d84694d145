package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// runnerWord is the last status of the job's runner.
type runnerWord struct {
	word checkpoint.Runner
	ok   bool // it is about the present run
}

// Writing returns the jobs whose folders are read: they run, or ended since the last cycle.
func (ro *Roster) Writing() (out []*Job) {
	for _, js := range ro.Ordered() {
		if js.Shown.Seen && !js.Shown.Disown && js.Rec.Ended.IsZero() && !js.idle() {
			out = append(out, js)
		}
	}
	return out
}

// BoxesOf returns the jobs' folders.
func BoxesOf(jobs []*Job) []observe.Box {
	out := make([]observe.Box, len(jobs))
	for i, js := range jobs {
		out[i] = js.Box()
	}
	return out
}

// Box returns the job's folder.
func (js *Job) Box() observe.Box { return observe.Box{Token: js.Rec.Token, SlurmUID: js.Rec.SlurmUID} }

// HeardRunners applies the runners' status. words has one for each of jobs, in that order. It MUST be
// called BEFORE HeardLines, which judges by Restarts to which run a line belongs.
func (st *State) HeardRunners(jobs []*Job, words []observe.Word, now time.Time) {
	for i, js := range jobs {
		js.heardRunner(words[i], now)
		js.rescue.unusable.heard(js.Mail.runner)
		js.retrace(st.knownUnit(js.Rec))
		st.Open.reached(js)
		st.tellRun(js, now)
	}
}

// heardRunner applies one status. A folder that hangs keeps the last one for unreadAfter; one that
// cannot be read otherwise has none.
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
}

// current reports whether a runner's status is about the present run. A slurmctld that lost its
// last minutes shows fewer restarts than there were; then the runner's count is right. A status
// written before the run's start belongs to an earlier run.
func current(word checkpoint.Runner, sj slurm.Job) bool {
	return word.Restarts >= sj.Restarts && !word.Beat.Before(sj.Start)
}

// Restarts returns the present run's restart count: the runner's if known, else Slurm's.
func (js *Job) Restarts() int {
	if js.Mail.runner.ok {
		return js.Mail.runner.word.Restarts
	}
	return js.Shown.Slurm.Restarts
}
