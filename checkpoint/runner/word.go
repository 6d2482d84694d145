package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// maxSkips is how many skipped checkpoints the note lists.
const maxSkips = 16

// write writes the runner's note if it has changed. After a failure it is tried again in
// the next iteration of the loop.
func (r *run) write() {
	if r.alone || !r.dirty {
		return
	}
	word, err := r.word(), error(nil)
	if r.fence != nil {
		word, err = r.outward(word)
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(word)
	}
	if err == nil {
		err = r.job.write(checkpoint.RunnerFile, append(data, '\n'))
	}
	r.complain("writing "+checkpoint.RunnerFile, err)
	r.dirty = err != nil
}

func (r *run) word() checkpoint.Runner {
	w := checkpoint.Runner{
		Version: checkpoint.Version, Job: r.job.id.Job, Restarts: r.job.restarts, Incarnation: r.target.Incarnation,
		State: r.spoken(), Host: r.Host, PID: os.Getpid(), Split: r.where.split, Resumed: r.from.name,
		Skipped: r.from.skipped[:min(len(r.from.skipped), maxSkips)], FirstLine: r.first, Beat: r.Now(),
		Answer: r.state.answer, Note: r.note(),
		Rhythm: r.rhythm(), Devices: r.devices(), LastWords: r.last, Stranded: r.state.stranded,
		RetryAt: r.retryAt, Final: r.Retries == 0 && !r.Judge,
	}
	if r.saves() {
		w.Every, w.Cost = r.interval().Seconds(), r.periodic.cost.Seconds()
	}
	for _, o := range r.outputs {
		if o.file == r.Stdout {
			w.Output = o.path
		} else {
			w.Errors = o.path
		}
	}
	if e := r.state.exit; e != nil {
		w.Exit = &checkpoint.Exit{Code: e.Code, Signal: e.Signal, At: w.Beat}
	}
	if r.done {
		w.State = checkpoint.Exited
		if w.Exit == nil {
			w.Exit = &checkpoint.Exit{Code: r.code, At: w.Beat}
		}
	}
	return w
}

// spoken is the state in the runner's note. During a periodic checkpoint the program
// trains as far as sluiced is concerned: sluiced need not wait.
func (r *run) spoken() checkpoint.RunnerState {
	if r.ownStands() && r.child != nil {
		return checkpoint.Training
	}
	return r.state.phase
}

// note is a message for the user about this run.
func (r *run) note() string {
	notes := []string{r.astray(), r.retried(), r.unhung(), r.held}
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	return strings.Join(notes, "; ")
}

// retried reports that the script was started again after it failed.
func (r *run) retried() string {
	if r.failures == 0 {
		return ""
	}
	return fmt.Sprintf("the script failed and was started again, %d time(s) in this run", r.failures)
}

// astray reports that the run began with another checkpoint than planned.
func (r *run) astray() string {
	chosen := r.target.Checkpoint
	if r.state.phase == checkpoint.Starting || chosen == "" || r.from.name >= chosen {
		return ""
	}
	if r.from.name == "" {
		return fmt.Sprintf("checkpoint %s was to be resumed and cannot be used, nor any other: started from zero", chosen)
	}
	return fmt.Sprintf("checkpoint %s was to be resumed and cannot be used: resumed from %s", chosen, r.from.name)
}

// progressTail is how much of the progress log is read to find out whether the program
// reported that its work is finished, in bytes.
const progressTail = 64 << 10

// complete reports whether the program of this run reported that.
func (f folders) complete() bool {
	for _, p := range f.progressSince(0) {
		if p.Event == "finished" && p.Restarts == f.restarts {
			return true
		}
	}
	return false
}
