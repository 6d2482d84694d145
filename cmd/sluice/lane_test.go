package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/sbatch"
)

// sweepBench is a sweep with lanes that are processes of this machine, and the daemon's keeper beside
// them: all of a sweep but Slurm.
type sweepBench struct {
	t            *testing.T
	dir          string
	jobs, outbox string
	sweep        sweep.Sweep
	keeper       *offcycle.Sweeps
	live         atomic.Pointer[offcycle.Live]
	stop         func()
	measure      string // how long lanes measure trials that share GPUs; "" = as usual
}

// trialProgram reports epochs, saves when it is asked, and fails or reports NaN where its point says so.
const trialProgram = `import json, os, sys, time
import sluice
x = sluice.params()["x"]
saved = sluice.resume()
epoch = json.loads((saved / "state.json").read_text())["epoch"] if saved else 0
while epoch < int(os.environ.get("EPOCHS", "4")):
    time.sleep(float(os.environ.get("PAUSE", "0.01")))
    epoch += 1
    with open(os.environ["LOG"], "a") as log:
        log.write("%s %d\n" % (os.environ["SLUICE_TRIAL"], epoch))
    if x == 0.25 and epoch == 2:
        sys.exit("this point is no good")
    sluice.report(epoch=epoch, score=float("nan") if x == 0.75 and epoch == 3 else epoch * x)
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
            (folder / "state.json").write_text(json.dumps({"epoch": epoch}))
sluice.finished()
`

func newSweepBench(t *testing.T, change func(*sweep.Sweep)) *sweepBench {
	t.Helper()
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip("NOT TESTED: no python3")
	}
	b := &sweepBench{t: t, dir: t.TempDir()}
	b.jobs, b.outbox = filepath.Join(b.dir, "jobs"), filepath.Join(b.dir, "outbox")
	b.sweep = sweep.Sweep{
		Version: 1, Token: strings.Repeat("5", 32), Name: "bench", Number: 101, Algorithm: "grid", Metric: sweep.Metric{Name: "score", Max: true}, Trials: 5, Parallel: 2,
		Epochs: 4, MaxFailures: 5, KeepGB: 1, Params: []string{"x=float:0:1:0.25"}, Run: []string{"--keep=1", "--retries=0", "--checkpoint-every=off"},
	}
	change(&b.sweep)
	b.must(os.MkdirAll(b.outbox, 0o755))
	b.must(os.MkdirAll(b.folder(), 0o755))
	b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(trialProgram), 0o644))
	b.must(os.WriteFile(filepath.Join(b.folder(), checkpoint.Script), []byte("#!/bin/sh\nexec /usr/bin/python3 "+filepath.Join(b.dir, "trial.py")+"\n"), 0o700))
	b.write()
	return b
}

func (b *sweepBench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *sweepBench) folder() string { return filepath.Join(b.jobs, b.sweep.Token) }

func (b *sweepBench) write() {
	b.t.Helper()
	b.must(writeSweep(b.folder(), b.sweep))
}

func laneToken(job int) string { return fmt.Sprintf("%032x", job) }

// starts starts the keeper, as a daemon that knows nothing but its files.
func (b *sweepBench) starts() {
	ctx, cancel := context.WithCancel(context.Background())
	ticks, over := make(chan time.Time), make(chan struct{})
	paths := offcycle.SweepPaths{Jobs: b.jobs, Outbox: b.outbox, Record: filepath.Join(b.dir, "record")}
	live := func() offcycle.Live { return *b.live.Load() }
	b.keeper = offcycle.NewSweeps(paths, live, time.Now, func(token string, err error) { b.t.Logf("sweep %s: %v", token, err) })
	go func() { defer close(over); b.keeper.Run(ctx, ticks) }()
	go func() {
		for ctx.Err() == nil {
			select {
			case ticks <- time.Now():
			case <-ctx.Done():
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	b.stop = func() {
		cancel()
		<-over
		b.keeper.Settle(context.Background())
	}
	b.t.Cleanup(b.stop)
}

// slurm says which lanes there are: those that run, and those that wait in their run of that number.
func (b *sweepBench) slurm(runs []int, waits map[int]int) {
	live := offcycle.Live{Known: true}
	for _, job := range runs {
		live.Lanes = append(live.Lanes, offcycle.LaneJob{Sweep: b.sweep.Token, Lane: laneToken(job), Owner: uint32(os.Geteuid()), SlurmUID: uint32(os.Geteuid()), Job: int64(job)})
	}
	for job, restarts := range waits {
		live.Lanes = append(live.Lanes, offcycle.LaneJob{Sweep: b.sweep.Token, Lane: laneToken(job), Owner: uint32(os.Geteuid()), SlurmUID: uint32(os.Geteuid()), Job: int64(job), Waits: true, Restarts: restarts})
	}
	b.live.Store(&live)
}

// lane starts a lane as Slurm starts its job.
func (b *sweepBench) lane(job, restarts int, environ ...string) *exec.Cmd {
	b.t.Helper()
	folder := filepath.Join(b.jobs, laneToken(job))
	b.must(os.MkdirAll(filepath.Join(folder, checkpoint.Checkpoints), 0o755))
	s := &submission{job: b.job()}
	s.site.Paths.Jobs, s.site.Paths.Outbox = b.jobs, b.outbox
	script := s.laneScript()
	if b.measure != "" {
		script = bytes.Replace(script, []byte(" -- "), []byte(" --measure="+b.measure+" -- "), 1)
	}
	b.must(os.WriteFile(filepath.Join(folder, checkpoint.Script), script, 0o700))
	cmd := exec.Command("sluice", "run", "--outbox="+b.outbox, "--keep=1", "--checkpoint-every=off", fmt.Sprintf("--array=101_%d/4:0-3:1", job-101), "--", filepath.Join(folder, checkpoint.Script))
	cmd.Env = append(os.Environ(), fmt.Sprintf("SLURM_JOB_ID=%d", job), fmt.Sprintf("SLURM_RESTART_COUNT=%d", restarts), "LOG="+filepath.Join(b.dir, "log"))
	cmd.Env = append(cmd.Env, environ...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.must(cmd.Start())
	b.t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		cmd.Wait()
		if b.t.Failed() {
			b.t.Logf("lane %d:\n%s", job, out.String())
		}
	})
	return cmd
}

// view is the sweep as its user sees it.
func (b *sweepBench) view() *sweepView {
	b.t.Helper()
	all, err := sweepsIn(b.jobs)
	b.must(err)
	i := slices.IndexFunc(all, func(v *sweepView) bool { return v.Token == b.sweep.Token })
	if i < 0 {
		b.t.Fatal("the sweep is not found")
	}
	b.must(all[i].fill(b.jobs, b.outbox, time.Now()))
	return all[i]
}

// checkGrid checks how the trials of trialProgram ended: words are in those of the one that fails by itself.
func checkGrid(t *testing.T, v *sweepView, words string) {
	t.Helper()
	for _, trial := range v.Book.Trials {
		switch trial.Point {
		case "x=0.25":
			if trial.State != book.Failed || !strings.Contains(trial.Words, words) {
				t.Errorf("%+v", trial)
			}
		case "x=0.75":
			if trial.State != book.Failed || trial.Words != "score is not a finite number at epoch 3" {
				t.Errorf("%+v", trial)
			}
		default:
			if trial.State != book.Done || len(trial.Curve) != 4 || trial.Start != 1 {
				t.Errorf("%+v", trial)
			}
		}
	}
}

func (b *sweepBench) until(what string, is func(*sweepView) bool) *sweepView {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if v := b.view(); is(v) {
			return v
		}
	}
	b.t.Fatalf("waited in vain for %s: %+v", what, b.view().row())
	return nil
}

// trained counts how often each epoch of each trial was trained.
func (b *sweepBench) trained() map[string]int {
	out := map[string]int{}
	text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

// eachOnce checks that each epoch of a trial was trained once.
func (b *sweepBench) eachOnce(trial, epochs int) {
	b.t.Helper()
	trained := b.trained()
	for epoch := 1; epoch <= epochs; epoch++ {
		if n := trained[fmt.Sprint(trial, " ", epoch)]; n != 1 {
			b.t.Errorf("epoch %d of trial %d was trained %d times", epoch, trial, n)
		}
	}
}

// TestLanes: two lanes run all points of a grid. One that fails and one that reports NaN count as failed
// with their last words, and the others are done, each with its whole curve.
func TestLanes(t *testing.T) {
	b := newSweepBench(t, func(*sweep.Sweep) {})
	b.slurm([]int{101, 102}, nil)
	b.starts()
	lanes := []*exec.Cmd{b.lane(101, 0), b.lane(102, 0)}
	b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	for _, cmd := range lanes {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a lane: %v", err)
		}
	}
	v := b.view()
	checkGrid(t, v, "exit code 1")
	if best, mark := v.Book.Best(b.sweep.Metric); best == nil || best.Point != "x=1" || mark.Value != 4 {
		t.Errorf("best %+v", best)
	}
	params, err := os.ReadFile(filepath.Join(v.trialFolder(1), sweep.ParamsFile))
	if err != nil || string(params) != "{\"x\": 0}\n" {
		t.Errorf("%s, %v", params, err)
	}
	if data, err := os.ReadFile(filepath.Join(b.outbox, laneToken(101), sweep.TellFile)); err != nil || bytes.Contains(data, []byte("x=")) {
		t.Errorf("parameters can be read in the outbox: %s, %v", data, err)
	}
}

// asksToSave asks a lane to save, as sluiced does, and waits until it has.
func (b *sweepBench) asksToSave(job int) {
	b.t.Helper()
	now := time.Now().UTC()
	ask := checkpoint.Request{Version: 1, Job: int64(job), ID: "r-1", Incarnation: 2, Asked: now, Deadline: now.Add(time.Minute), Why: "a test", Stop: true}
	text, err := json.Marshal(ask)
	b.must(err)
	dir, err := checkpoint.OpenDir(b.outbox)
	b.must(err)
	sub, err := dir.Make(laneToken(job), 0o755)
	b.must(err)
	b.must(sub.Write(checkpoint.RequestFile, text, 0o644))
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		word, err := runnerWord(filepath.Join(b.jobs, laneToken(job)))
		if err == nil && word.Answer != nil && word.Answer.Request == "r-1" && word.Answer.Checkpoint != "" {
			break
		}
		if time.Now().After(end) {
			b.t.Fatalf("the lane does not answer: %+v, %v", word, err)
		}
	}
}

// withdraws takes the request back.
func (b *sweepBench) withdraws(job int) {
	b.t.Helper()
	b.must(os.Remove(filepath.Join(b.outbox, laneToken(job), checkpoint.RequestFile)))
}

// TestLaneStopped: a lane that is asked to save has its trial save; the trial goes on in the other lane
// from its checkpoint, after the daemon was killed, and no epoch is trained twice.
func TestLaneStopped(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.Epochs = []string{"x=fixed:0.5"}, 1, 20 })
	b.slurm([]int{101}, nil)
	b.starts()
	first := b.lane(101, 0, "PAUSE=0.3", "EPOCHS=20")
	b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 0 })
	b.asksToSave(101)
	b.stop()
	b.must(first.Process.Signal(syscall.SIGTERM))
	first.Wait()
	b.slurm([]int{102}, map[int]int{101: 1})
	b.starts()
	second := b.lane(102, 0, "PAUSE=0.01", "EPOCHS=20")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(second.Wait())
	trial := v.Book.Trials[0]
	if trial.State != book.Done || trial.Start != 2 || len(trial.Curve) != 20 || trial.Lane != laneToken(102) {
		t.Errorf("%+v", trial)
	}
	b.eachOnce(1, 20)
}

// sleeper runs a lane with a trial that does nothing, and returns what starts processes with the trial's environment.
func (b *sweepBench) sleeper() (lane *exec.Cmd, starts func(more ...string) *exec.Cmd) {
	b.t.Helper()
	environ := filepath.Join(b.dir, "environ")
	script := "#!/bin/sh\ntr '\\0' '\\n' </proc/$$/environ >" + environ + ".new; mv " + environ + ".new " + environ + "\nexec sleep 100\n"
	b.must(os.WriteFile(filepath.Join(b.folder(), checkpoint.Script), []byte(script), 0o700))
	b.slurm([]int{101}, nil)
	b.starts()
	lane = b.lane(101, 0)
	var text []byte
	for end := time.Now().Add(time.Minute); len(text) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text, _ = os.ReadFile(environ)
	}
	return lane, func(more ...string) *exec.Cmd {
		cmd := exec.Command("sleep", "100")
		cmd.Env = append(strings.Split(strings.TrimSpace(string(text)), "\n"), more...)
		b.must(cmd.Start())
		return cmd
	}
}

// TestStepsEnd: what a step of Slurm left running of a trial that was stopped is ended with it, although it is no
// descendant of its lane; here a process that was started with the trial's environment. Another job that the trial
// submitted, which has the trial's variables and its own SLURM_JOB_ID, runs on.
func TestStepsEnd(t *testing.T) {
	for _, perGPU := range []int{1, 2} {
		b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.PerGPU = []string{"x=fixed:0.5"}, 1, perGPU })
		_, starts := b.sleeper()
		step, other := starts(), starts("SLURM_JOB_ID=900")
		b.asksToSave(101)
		for cmd, runs := range map[*exec.Cmd]bool{step: false, other: true} {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
			if (err == nil && !bytes.Contains(stat, []byte(") Z "))) != runs {
				t.Errorf("%d trials at once: runs on: %v, want %v: %s", perGPU, !runs, runs, stat)
			}
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
}

func (b *sweepBench) job() (j sbatch.Job) {
	j.Sweep = b.sweep.Token
	return j
}

// TestMetricRegex: the metric of a program that does not know sluice is read from its output.
func TestMetricRegex(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) {
		s.Params, s.Trials, s.Parallel = []string{"x=choice:2,5"}, 2, 1
		s.Regex = `epoch (?P<epoch>\d+) of 3: acc=(?P<metric>[0-9.]+)`
	})
	script := "#!/bin/sh\nfor e in 1 2 3; do echo \"epoch $e of 3: acc=0.${e}{x}\"; echo \"epoch $e of 3: nothing\"; done\n"
	b.must(os.WriteFile(filepath.Join(b.folder(), checkpoint.Script), []byte(script), 0o700))
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	for _, trial := range v.Book.Trials {
		if last, _ := trial.Last(); trial.State != book.Done || len(trial.Curve) != 3 || last.Epoch != 3 || last.Value != map[string]float64{"x=2": .32, "x=5": .35}[trial.Point] {
			t.Errorf("%+v", trial)
		}
	}
}

// TestRepeats: each point runs with its seeds, and the best one is that of the best mean.
func TestRepeats(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) {
		s.Params, s.Trials, s.Repeats, s.Seed, s.Regex = []string{"x=choice:1,2"}, 6, 3, 40, `acc=(?P<metric>[0-9.]+)`
	})
	// Of x=1 one repeat is the best of all, but their mean is not.
	script := "#!/bin/sh\ncase {x}.$SLUICE_SEED in 1.41) a=9;; 1.*) a=1;; *) a=5;; esac\necho acc=$a.{seed}\n"
	b.must(os.WriteFile(filepath.Join(b.folder(), checkpoint.Script), []byte(script), 0o700))
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	best, ok := v.Book.Leader(b.sweep)
	if !ok || len(best.Trials) != 3 || best.Trials[0].Point != "x=2" || best.Value < 5.409 || best.Value > 5.411 {
		t.Errorf("%+v", best)
	}
	row := v.row()
	if row.Best == nil || *row.Best.Best != best.Value || *row.Best.Seed != 42 || row.Best.Repeats != 3 || v.sorted()[0].Point != "x=2" {
		t.Errorf("%+v", row.Best)
	}
}

// TestPopulation: members of a population that fall behind are replaced by trials that go on from the
// checkpoint of a leading one, with its weights and other parameters; who copied from whom is recorded.
func TestPopulation(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) {
		s.Algorithm, s.Params, s.Trials, s.Parallel, s.Members, s.Epochs, s.Seed = "pbt", []string{"x=float:0.1:1", "y=float:0:1 if z=b", "z=choice:a,b"}, 8, 4, 4, 26, 3
		s.Wheres, s.Run = []string{"x<0.9"}, []string{"--keep=4", "--retries=0", "--checkpoint-every=off"}
	})
	// The score is the sum of x over all epochs: a copy has its parent's, and adds its own.
	program := `import glob, json, os, time
import sluice
p = sluice.params()
assert ("y" in p) == (p["z"] == "b") and p["x"] < 0.9
saved = sluice.resume()
state = json.loads((saved / "state.json").read_text()) if saved else {"epoch": 0, "score": 0.0}
began = state["epoch"]
open(os.environ["LOG"] + "." + os.environ["SLUICE_TRIAL"], "w").close()
while len(glob.glob(os.environ["LOG"] + ".*")) < 4: # the population starts together
    time.sleep(0.05)
while state["epoch"] < 26:
    time.sleep(0.15)
    state = {"epoch": state["epoch"] + 1, "score": state["score"] + p["x"]}
    sluice.report(epoch=state["epoch"], score=state["score"], began=began)
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=state["epoch"], epoch=state["epoch"]) as folder:
            (folder / "state.json").write_text(json.dumps(state))
sluice.finished()
`
	b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(program), 0o644))
	b.slurm([]int{101, 102, 103, 104}, nil)
	b.starts()
	var lanes []*exec.Cmd
	for job := 101; job <= 104; job++ {
		lanes = append(lanes, b.lane(job, 0))
	}
	b.until("a member to be replaced", func(v *sweepView) bool {
		return len(v.Book.Trials) > 4 && len(v.Book.Trials[4].Curve) > 0
	})
	b.stop() // the daemon is killed, and starts again
	b.starts()
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over != book.NotOver })
	for _, cmd := range lanes {
		b.must(cmd.Wait())
	}
	if v.Book.Over != book.AllEnded && v.Book.Over != book.AllTried {
		t.Errorf("over: %q", v.Book.Over)
	}
	replaced := map[int]bool{}
	for _, trial := range v.Book.Trials {
		if trial.Number <= 4 {
			continue
		}
		parent := v.Book.Trial(trial.From)
		if trial.Replaces == 0 || replaced[trial.Replaces] || v.Book.Trial(trial.Replaces).State != book.Paused || parent == nil || trial.Copied == nil || trial.Copied.From != trial.From {
			t.Fatalf("%+v, copied %+v", trial, trial.Copied)
		}
		replaced[trial.Replaces] = true
		if len(trial.Curve) == 0 {
			continue // stopped at once
		}
		first := trial.Curve[0]
		if at := trial.Copied.Epoch; at < 1 || first.Others["began"] != at || first.Epoch != at+1 || trial.Point == parent.Point {
			t.Errorf("trial %d began at epoch %g after %+v", trial.Number, first.Others["began"], trial.Copied)
		}
		for _, m := range parent.Curve { // its score is its parent's there, plus its own x
			if m.Epoch == trial.Copied.Epoch {
				var x float64
				fmt.Sscanf(trial.Point, "x=%g", &x)
				if d := first.Value - m.Value - x; d > 1e-6 || d < -1e-6 {
					t.Errorf("trial %d: %g after its parent's %g with x=%g", trial.Number, first.Value, m.Value, x)
				}
			}
		}
		if words := originWords(trial); !strings.Contains(words, fmt.Sprintf("went on from trial %d's checkpoint of epoch %g", trial.From, trial.Copied.Epoch)) {
			t.Error(words)
		}
	}
	if len(replaced) == 0 {
		t.Error("nobody was replaced")
	}
}

// TestGoesOn: after a lane was cancelled in the middle of a trial, another one goes on with that trial; a
// sweep that has tried its whole space goes on in a further lane once its user has made the space larger,
// with the trials that it had.
func TestGoesOn(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.Parallel = []string{"x=choice:1,2"}, 6, 1 })
	b.slurm([]int{101}, nil)
	b.starts()
	first := b.lane(101, 0, "PAUSE=0.3")
	b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 0 })
	b.must(syscall.Kill(-first.Process.Pid, syscall.SIGKILL))
	first.Wait()
	b.slurm([]int{102}, nil) // Slurm does not have the cancelled one any more
	second := b.lane(102, 0)
	v := b.until("the space to be tried", func(v *sweepView) bool { return v.Book.Over == book.Exhausted })
	b.must(second.Wait())
	if len(v.Book.Trials) != 2 || v.Book.Trials[0].State != book.Done || v.Book.Trials[0].Start != 2 || v.Book.Trials[0].Lane != laneToken(102) {
		t.Fatalf("%+v", v.Book.Trials[0])
	}
	again := v
	again.Params = []string{"x=choice:1,2,3"}
	again.again(true, time.Now())
	if n := again.Book.Wants(again.Sweep, 1); n != 1 {
		t.Errorf("its user would submit %d lanes", n)
	}
	b.sweep.Params = again.Params
	b.write()
	b.slurm([]int{103}, nil)
	third := b.lane(103, 0)
	v = b.until("the larger space to be tried", func(v *sweepView) bool { return len(v.Book.Trials) == 3 && v.Book.Over == book.Exhausted })
	b.must(third.Wait())
	if trial := v.Book.Trials[2]; trial.Point != "x=3" || trial.State != book.Done || v.Book.Trials[1].Start != 1 {
		t.Errorf("%+v", trial)
	}
}
