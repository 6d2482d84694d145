package lane

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// lateSignal is how long a trial that a signal ended waits for the signal that ends the job: Slurm
// sends it to all processes, in any order.
const lateSignal = time.Second

// ends writes down how the trial ended, and answers the request for which it saved.
func (t *trial) ends() error {
	<-t.child.Done()
	hostWords, hostMemory := t.hostWords()
	if t.host.alive() && !t.ended && !t.handedBack() {
		t.endHost() // the trial's runner ended by itself, and the host would train on
	}
	t.rest()
	t.restOfSteps()
	t.report()
	exit := t.child.Exit()
	word, known := t.word()
	if exit.Code > 128 && !t.ended && !t.ending {
		until := t.Now().Add(lateSignal)
		for !t.ended && t.Now().Before(until) {
			t.wait(nil)
		}
	}
	e := sweep.Event{How: sweep.Done}
	switch {
	case t.bad != "":
		e.How, e.Words = sweep.Failed, t.bad
	case exit.Code == 0 && (!t.ending || t.curve.finished), t.ending && t.whole():
	case !t.ending && !t.ended:
		e.How, e.Words = sweep.Failed, fmt.Sprintf("exit code %d", exit.Code)
		if known && word.LastWords != nil {
			e.Words = word.LastWords.Why
		}
		e.Words = cmp.Or(hostWords, e.Words)
		e.Node = known && word.Stranded || t.unfit()
		if memory := hostMemory || known && word.LastWords != nil && word.LastWords.Memory; memory && t.beside {
			t.crowded = true // it is not the trial's fault, and the lane runs fewer at once
			e = sweep.Event{How: sweep.Saved, Memory: true}
		}
	case t.stopped:
		e.How, e.Lost = sweep.Yielded, t.lost
	default:
		e.How = sweep.Saved
	}
	if e.How == sweep.Done && t.curve.count == 0 && t.tell.Start == 1 && t.tell.From == 0 {
		e.How, e.Words = sweep.Failed, fmt.Sprintf("it ended without having reported %s", t.sweep.Metric.Name)
	}
	return t.over(e)
}

// launching is how long Slurm may take to start the processes of a step whose srun was killed.
const launching = 2 * time.Second

// restOfSteps ends the steps of this start of the trial. They may still be being started only if the trial was ended
// before its program said anything.
func (t *trial) restOfSteps() {
	if t.child == nil {
		return
	}
	watch := time.Duration(0)
	if t.ending && !t.ended && !t.curve.hello && !t.curve.any {
		watch = launching
	}
	t.endSteps(t.tell.Trial, watch, "SLUICE_RUNNER="+strconv.Itoa(t.child.PID))
}

// endSteps kills what steps of Slurm left running of a trial, of those that have the variable, for watch at least:
// they are no descendants, and would train on as long as the job goes on. A job that the trial submitted has its
// variables too, but a SLURM_JOB_ID of its own. On the job's other nodes steps are not found.
func (l *lane) endSteps(trial int, watch time.Duration, variable ...string) {
	of := append(variable, "SLUICE_JOB_DIR="+l.trialFolder(trial), "SLURM_JOB_ID="+l.vars["SLURM_JOB_ID"])
	for _, p := range process.KillStarted(of, watch, l.End) {
		fmt.Fprintf(l.Stderr, "sluice: trial %d: process %s cannot be ended\n", trial, p)
	}
}

// whole reports whether the trial has reported its last epoch.
func (t *trial) whole() bool {
	return t.sweep.Epochs > 0 && t.curve.any && t.curve.last >= t.sweep.Epochs
}

// unfit reports whether the runner of this job knows one of its GPUs to be unfit.
func (l *lane) unfit() bool {
	data, err := readIn(l.folder, checkpoint.RunnerFile)
	if err != nil || data == nil {
		return false
	}
	word, err := checkpoint.ParseRunner(data)
	if err != nil {
		return false
	}
	for _, d := range word.Devices {
		for _, gpu := range d.GPUs {
			if gpu.Unfit != "" {
				return true
			}
		}
	}
	return false
}

// over writes the end of the trial's run down.
func (t *trial) over(e sweep.Event) error {
	e.Kind, e.Trial, e.Start = sweep.EndedAs, t.tell.Trial, t.tell.Start
	e.Checkpoint, e.Bytes = t.newest()
	if e.How == sweep.Done || e.How == sweep.Failed {
		t.done++
		if !t.Elastic {
			t.work = float64(t.done)
		}
	}
	t.say("trial %d %s%s", t.tell.Trial, e.How, after(": ", e.Words))
	if err := t.event(e); err != nil {
		return err
	}
	if err := t.unask(); err != nil {
		return err
	}
	if t.for_ != nil && !t.for_.Continue && !t.ended {
		if err := t.answer(*t.for_, t.tell.Trial); err != nil {
			return err
		}
		t.withdrawn(*t.for_)
	}
	if t.ended || t.sweep.OwnJobs {
		return nil
	}
	return t.progress("progress")
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// newest returns the path of the trial's newest complete checkpoint, and the size of all.
func (t *trial) newest() (path string, size int64) {
	base := filepath.Join(t.folder, checkpoint.Checkpoints)
	dir, err := checkpoint.OpenDir(base)
	if err != nil {
		return "", 0
	}
	defer dir.Close()
	names, err := checkpoint.NewSeries(dir, checkpoint.Identity{Job: t.number, Token: t.token}).Names()
	if err != nil {
		return "", 0
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(base, name, checkpoint.ManifestFile)); err == nil {
			path = filepath.Join(base, name)
			break
		}
	}
	filepath.WalkDir(base, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return path, size
}
