package lane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// trial is one run of a trial.
type trial struct {
	*lane
	tell   sweep.Tell
	folder string // of the trial
	token  string
	output *os.File
	child  *process.Child
	curve  curve
	counts bool    // its work is counted; from and before are known
	from   float64 // its work when it began in this run
	before float64 // the lane's work then

	saving  *checkpoint.Request // passed on to the trial's runner
	since   time.Time           // when
	for_    *checkpoint.Request // sluiced's request to this lane, for which it saves; nil = because of a Tell
	ending  bool                // its end was asked for
	stopped bool                // it was told to end
	lost    sweep.Lost          // because of this rung
	bad     string              // why it counts as failed, whatever its exit code
	periods int                 // of a population, for which it was asked to save
	beside  bool                // other trials ran on its GPUs in this start
	// signalled is the request of which the program got the signal.
	signalled string
}

func (l *lane) bounded(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// trialFolder is the folder of a trial.
func (l *lane) trialFolder(n int) string {
	return filepath.Join(l.Sweep, sweep.Trials, sweep.TrialToken(l.sweep.Token, n))
}

// trial runs a trial to its end, or until it is to end.
func (l *lane) trial(ask sweep.Ask, tell sweep.Tell) error {
	t := &trial{lane: l, tell: tell, token: sweep.TrialToken(l.sweep.Token, tell.Trial)}
	t.folder = l.trialFolder(tell.Trial)
	l.say("trial %d of sweep %d begins: %s", tell.Trial, l.number, tell.Point)
	err := os.MkdirAll(t.folder, 0o700)
	if err == nil {
		if held := t.locked(); held != nil {
			defer held.Close()
		}
		err = t.start()
	}
	if err != nil {
		return t.unstarted(err)
	}
	defer func() { t.output.Close() }() // it is opened again where the trial is started again
	for {
		t.beside = t.beside || t.hears(crowdFile)
		l.wait(t.child.Done())
		t.report()
		select {
		case <-t.child.Done():
			if t.untouched() {
				l.cold = true
				t.rest()
				t.output.Close()
				if err := t.start(); err != nil {
					return t.unstarted(err)
				}
				continue
			}
			return t.ends()
		default:
		}
		if l.ended { // Slurm ends the job; the trial's runner saves nothing any more
			t.ending = true
			t.child.Signal(syscall.SIGTERM)
			select {
			case <-t.child.Done():
			case <-time.After(l.End):
				l.family.KillAll(l.End)
			}
			return t.ends()
		}
		t.hosted()
		if err := t.look(ask); err != nil {
			return err
		}
	}
}

// unstarted ends a trial whose runner was not started. That may be the node's fault, unless the lane was to save
// or to end before: then another lane starts the trial.
func (t *trial) unstarted(err error) error {
	if errors.Is(err, errNotBegun) {
		return t.over(sweep.Event{How: sweep.Saved})
	}
	return t.over(sweep.Event{How: sweep.Failed, Words: "it could not be started: " + err.Error(), Node: true})
}

// start makes the trial's folder and starts its runner.
func (t *trial) start() (err error) {
	if err := os.MkdirAll(filepath.Join(t.folder, checkpoint.Checkpoints), 0o700); err != nil {
		return err
	}
	if err := t.inherit(); err != nil {
		return err
	}
	point := sweep.ParsePoint(t.tell.Point)
	values := map[string]string{sweep.TrialName: strconv.Itoa(t.tell.Trial), sweep.SeedName: t.seed()}
	for _, s := range point {
		values[s.Name] = s.Text
	}
	script := sweep.Render(t.script, func(name string) (string, bool) { text, ok := values[name]; return text, ok })
	warm := t.warm()
	if warm {
		folder, err := t.started()
		if err != nil {
			return err
		}
		script = standIn(folder)
	}
	dir, err := checkpoint.OpenDir(t.folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = errors.Join(dir.Write(checkpoint.Script, script, 0o700), dir.Write(sweep.ParamsFile, sweep.PointJSON(point), 0o600), t.unask())
	if err != nil {
		return err
	}
	t.output, err = os.OpenFile(filepath.Join(t.folder, sweep.OutputFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	t.elsewhere()
	t.curve.begin(t)
	argv := []string{t.Sluice, "run", "--outbox=" + t.inner, fmt.Sprintf("--trial=%d.%d", t.number, t.tell.Start)}
	argv = append(argv, t.sweep.Run...)
	env := append(t.environment(point), "SLUICE_TRIAL_OUTPUT="+t.output.Name())
	switch {
	case warm: // the host keeps the GPUs; a process that has failed does not train on
		argv, env = append(argv, "--retries=0"), append(env, "SLUICE_GPU_FILES=none")
	case t.hostable():
		env = append(env, "SLUICE_TRIALS_WANTED="+filepath.Join(t.Sweep, wanted))
	}
	argv = append(argv, "--", filepath.Join(t.folder, checkpoint.Script))
	t.child, err = t.family.Start(process.Command{Argv: append(argv, t.Args...), Env: env, Stdout: t.output, Stderr: t.output})
	if err != nil {
		t.output.Close()
	}
	return err
}

// seed is that of the trial's repeat.
func (t *trial) seed() string { return strconv.FormatUint(t.sweep.SeedOf(t.tell.Repeat), 10) }

// environment is the lane's with the trial's parameters.
func (t *trial) environment(point []sweep.Setting) []string {
	env := make([]string, 0, len(t.Env)+len(point)+6)
	for _, entry := range t.Env {
		if !strings.HasPrefix(entry, "SLUICE_PARAM") && !strings.HasPrefix(entry, "SLUICE_TRIAL") && !strings.HasPrefix(entry, "SLUICE_SEED=") {
			env = append(env, entry)
		}
	}
	for _, s := range point {
		env = append(env, s.Variable()+"="+s.Text)
	}
	return append(env, "SLUICE_SWEEP="+strconv.FormatInt(t.number, 10), "SLUICE_TRIAL="+strconv.Itoa(t.tell.Trial), "SLUICE_SEED="+t.seed(),
		"SLUICE_TRIAL_METRIC="+t.sweep.Metric.Name, "SLUICE_PARAMS="+filepath.Join(t.folder, sweep.ParamsFile))
}

// look looks for requests to end: of sluiced to this job, and of sluiced about this trial.
func (t *trial) look(ask sweep.Ask) error {
	r := t.request()
	switch {
	case r != nil && t.for_ == nil:
		t.for_ = r
		t.save(*r)
	case r == nil && t.for_ != nil && !t.ending && (t.for_.Continue || t.sweep.OwnJobs):
		t.for_, t.saving, t.stopped = nil, nil, false
		return t.unask()
	}
	if tell, ok := t.told(ask); ok && t.bad == "" {
		t.drop(ask, tell.Drop)
		measured := tell.Rung > 0 && t.curve.count < mostMeasured && t.hears(measureFile)
		if (tell.Stop || tell.Over) && !t.stopped && !measured {
			t.stopped, t.lost = true, tell.Lost
			t.save(checkpoint.Request{ID: "sweep." + ask.ID, Why: "the sweep goes on with other trials"})
		}
	}
	if t.bad != "" && !t.ending {
		t.end()
	}
	t.period(ask)
	t.signals()
	if t.saving != nil && !t.ending {
		return t.saved()
	}
	return nil
}

// save passes a request on to the trial's runner.
func (t *trial) save(r checkpoint.Request) {
	if t.saving != nil && !t.saving.Continue {
		return
	}
	now := t.Now().UTC()
	t.saving = &checkpoint.Request{Version: checkpoint.Version, Job: t.number, ID: r.ID, Restarts: t.tell.Start - 1, Asked: now,
		Deadline: now.Add(t.Grace), Why: r.Why, Continue: r.Continue}
	t.since = now
	if len(t.sweep.Run) > 0 && !t.knows() && !t.patient() {
		return // its program knows no requests
	}
	dir, err := checkpoint.OpenDir(t.inner)
	if err == nil {
		defer dir.Close()
		var sub *checkpoint.Dir
		if sub, err = dir.Make(t.token, 0o700); err == nil {
			defer sub.Close()
			var data []byte
			if data, err = json.Marshal(t.saving); err == nil {
				err = sub.Write(checkpoint.RequestFile, data, 0o600)
			}
		}
	}
	if err != nil {
		fmt.Fprintf(t.Stderr, "sluice: the trial could not be asked to save: %v\n", err)
	}
}

// adopts reports whether checkpoints are adopted from a program that does not know of requests.
func (t *trial) adopts() bool {
	for _, option := range t.sweep.Run {
		if strings.HasPrefix(option, "--glob=") {
			return true
		}
	}
	return false
}

// unask removes the request to the trial's runner.
func (t *trial) unask() error {
	err := os.Remove(filepath.Join(t.inner, t.token, checkpoint.RequestFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// saved looks whether the trial has saved. One that does not within the time is ended without.
func (t *trial) saved() error {
	word, known := t.word()
	answered := known && word.Answer != nil && word.Answer.Request == t.saving.ID && word.Answer.Checkpoint != ""
	late := t.Now().Sub(t.since) > t.Grace && !t.patient()
	switch {
	case answered && t.saving.Continue && t.for_ == nil:
		t.saving = nil
		return t.unask()
	case answered && t.saving.Continue:
		r := *t.for_
		t.saving = nil
		return errors.Join(t.answer(r, t.tell.Trial), t.unask())
	case t.saving.Continue:
		return nil
	case answered, late, !t.knows() && !t.patient():
		t.end()
	}
	return nil
}

// end ends the trial's runner and all it started; the child's end is then noticed.
func (t *trial) end() {
	t.ending = true
	if !t.leave() {
		t.endHost()
	}
	t.child.Signal(syscall.SIGTERM)
	select {
	case <-t.child.Done():
	case <-time.After(t.End):
		t.endHost()
	}
	t.rest()
}

// word reads the note of the trial's runner in this start.
func (t *trial) word() (checkpoint.Runner, bool) {
	data, err := readIn(t.folder, checkpoint.RunnerFile)
	if err != nil || data == nil {
		return checkpoint.Runner{}, false
	}
	w, err := checkpoint.ParseRunner(data)
	return w, err == nil && w.Restarts == t.tell.Start-1
}
