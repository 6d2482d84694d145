package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// warmProgram loops over trials, and notes its process and each step.
const warmProgram = `import json, os, signal, sys, time
import sluice
def note(*words):
    with open(os.environ["LOG"], "a") as log:
        log.write(" ".join(map(str, words)) + "\n")
def train(trial):
    epoch = int(trial.epoch)
    x = trial.params["x"]
    assert os.environ["SLUICE_PARAM_X"] == str(x) and trial.number == int(os.environ["SLUICE_TRIAL"])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143)) if x == 0 else None
    print(f"this is trial {trial.number}\n", end="", flush=True)  # in one write: ranks share the log
    if trial.saved:
        assert json.loads((trial.saved / "state.json").read_text()) == {"x": x, "epoch": epoch}
    while epoch < int(os.environ.get("EPOCHS", "4")):
        time.sleep(float(os.environ.get("PAUSE", "0.01")))
        epoch += 1
        note("epoch", trial.number, epoch, os.getpid(), time.time())
        if x == 0.25 and epoch == 2:
            raise ValueError("this point is no good")
        if x == float(os.environ.get("CRASH", "-1")) and epoch == 2:
            os._exit(3)
        sluice.report(epoch=epoch, score=float("nan") if x == 0.75 and epoch == 3 else epoch * x)
        if sluice.should_checkpoint():
            with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
                (folder / "state.json").write_text(json.dumps({"x": x, "epoch": epoch}))
    note("end", trial.number, epoch, os.getpid(), time.time())
for trial in sluice.trials():
    if os.environ.get("PLAIN"):
        train(trial)
    else:
        with trial:
            train(trial)
note("over", 0, 0, os.getpid(), time.time())
`

// newWarmBench is a sweep whose program loops over trials; known: its lanes have seen that before.
func newWarmBench(t *testing.T, known bool, change func(*sweep.Sweep)) *sweepBench {
	b := newSweepBench(t, change)
	b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(warmProgram), 0o644))
	if known {
		b.must(os.WriteFile(filepath.Join(b.folder(), "warm"), nil, 0o600))
	}
	return b
}

// step is one line of the program's log.
type warmStep struct {
	what         string
	trial, epoch int
	process      string
	at           float64
}

func (b *sweepBench) steps() (out []warmStep) {
	text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 5 {
			b.t.Fatalf("a line of the program: %q", line)
		}
		s := warmStep{what: f[0], process: f[3]}
		s.trial, _ = strconv.Atoi(f[1])
		s.epoch, _ = strconv.Atoi(f[2])
		s.at, _ = strconv.ParseFloat(f[4], 64)
		out = append(out, s)
	}
	return out
}

// processes lists the processes that trained each trial, and fails where an epoch was trained twice.
func (b *sweepBench) processes() map[int][]string {
	of, seen := map[int][]string{}, map[string]bool{}
	for _, s := range b.steps() {
		if s.what != "epoch" {
			continue
		}
		key := fmt.Sprint(s.trial, " ", s.epoch)
		if seen[key] {
			b.t.Errorf("epoch %d of trial %d was trained twice", s.epoch, s.trial)
		}
		seen[key] = true
		if !slices.Contains(of[s.trial], s.process) {
			of[s.trial] = append(of[s.trial], s.process)
		}
	}
	return of
}

// TestWarm: one process trains all points of a grid. An exception fails its trial only, and so does a
// metric that is no number; each has its own output, curve and last words.
func TestWarm(t *testing.T) {
	b := newWarmBench(t, true, func(s *sweep.Sweep) { s.Parallel = 1 })
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	v := b.view()
	for _, trial := range v.Book.Trials {
		output, err := os.ReadFile(filepath.Join(v.trialFolder(trial.Number), sweep.OutputFile))
		if err != nil || strings.Count(string(output), "this is trial") != 1 || !strings.Contains(string(output), fmt.Sprint("this is trial ", trial.Number)) {
			t.Errorf("output of trial %d: %s, %v", trial.Number, output, err)
		}
	}
	checkGrid(t, v, "this point is no good")
	of := b.processes()
	for number := 1; number <= 5; number++ {
		if len(of[number]) != 1 || of[number][0] != of[1][0] {
			t.Errorf("trial %d was trained by %v, trial 1 by %v", number, of[number], of[1])
		}
	}
	if steps := b.steps(); steps[len(steps)-1].what != "over" {
		t.Error("the program did not go on behind its loop")
	}
	if left, err := filepath.Glob(filepath.Join(b.jobs, laneToken(101), "lane", "hosts", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestWarmIsFound: the first trial of a sweep has a process of its own, which says that it loops over
// trials; all others have one together.
func TestWarmIsFound(t *testing.T) {
	b := newWarmBench(t, false, func(s *sweep.Sweep) { s.Parallel, s.Params = 1, []string{"x=choice:2,3,4"}; s.Trials = 3 })
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	of := b.processes()
	if len(of) != 3 || of[1][0] == of[2][0] || of[2][0] != of[3][0] || v.Book.Count(book.Done) != 3 {
		t.Errorf("%v; %+v", of, v.row())
	}
}

// TestWarmCrash: the crash of the process fails the trial that it trained, with its exit code, and a new
// process trains the rest.
func TestWarmCrash(t *testing.T) {
	b := newWarmBench(t, true, func(s *sweep.Sweep) { s.Parallel, s.Params = 1, []string{"x=choice:2,3,4"}; s.Trials = 3 })
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "CRASH=3")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	for _, trial := range v.Book.Trials {
		if trial.Point == "x=3" && (trial.State != book.Failed || !strings.Contains(trial.Words, "exit code 3")) || trial.Point != "x=3" && trial.State != book.Done {
			t.Errorf("%+v", trial)
		}
	}
	if of := b.processes(); of[1][0] != of[2][0] || of[2][0] == of[3][0] {
		t.Errorf("%v", of)
	}
}

// TestWarmStopped: a lane that is asked to save has its trial save, and the program wait for another
// one; the trial goes on elsewhere from its checkpoint, in the process of that lane.
func TestWarmStopped(t *testing.T) {
	for _, plain := range []string{"", "yes"} {
		b := newWarmBench(t, true, func(s *sweep.Sweep) { s.Params, s.Trials, s.Epochs = []string{"x=fixed:0.5"}, 1, 20 })
		b.slurm([]int{101}, nil)
		b.starts()
		first := b.lane(101, 0, "PAUSE=0.2", "EPOCHS=20", "PLAIN="+plain)
		b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 0 })
		b.asksToSave(101)
		b.slurm([]int{101, 102}, nil)
		second := b.lane(102, 0, "EPOCHS=20", "PLAIN="+plain)
		v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
		b.must(second.Wait())
		b.must(first.Process.Kill())
		first.Wait()
		trial := v.Book.Trials[0]
		if trial.State != book.Done || trial.Start != 2 || len(trial.Curve) != 20 || trial.Lane != laneToken(102) {
			t.Errorf("%+v", trial)
		}
		b.processes()
	}
}

// TestWarmKilled: whichever process of a lane is killed, no epoch is trained twice by two at once, and the
// trial goes on in the lane's next run.
func TestWarmKilled(t *testing.T) {
	b := newWarmBench(t, true, func(s *sweep.Sweep) { s.Params, s.Trials, s.Epochs, s.Parallel = []string{"x=choice:2,3"}, 2, 6, 1 })
	b.slurm([]int{101}, nil)
	b.starts()
	first := b.lane(101, 0, "PAUSE=0.2", "EPOCHS=6")
	b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 1 })
	b.must(first.Process.Kill())
	first.Wait()
	before := b.steps()
	b.slurm(nil, map[int]int{101: 1})
	second := b.lane(101, 1, "EPOCHS=6")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(second.Wait())
	if v.Book.Trials[0].Start != 2 || v.Book.Count(book.Done) != 2 {
		t.Errorf("%+v", v.row())
	}
	late := 0
	for _, s := range b.steps()[len(before):] {
		if s.process == before[0].process {
			late++
		}
	}
	if late > 3 {
		t.Errorf("the process of the killed run trained %d epochs more", late)
	}
}

// TestWarmGaps prints the time from one trial's end to the next one's first step; `go test -run WarmGaps -v`.
func TestWarmGaps(t *testing.T) {
	if os.Getenv("SLUICE_MEASURE") == "" {
		t.Skip("a measurement: SLUICE_MEASURE=1")
	}
	b := newWarmBench(t, true, func(s *sweep.Sweep) {
		s.Parallel, s.Trials, s.Algorithm, s.Params = 1, 25, "random", []string{"x=float:1:2"}
	})
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "PAUSE=0.1")
	b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	var gaps []float64
	var end float64
	for _, s := range b.steps() {
		switch {
		case s.what == "end":
			end = s.at
		case s.what == "epoch" && s.epoch == 1 && end > 0:
			gaps = append(gaps, s.at-end-0.1)
		}
	}
	slices.Sort(gaps)
	t.Logf("%d gaps: median %.3f s, worst %.3f s", len(gaps), gaps[len(gaps)/2], gaps[len(gaps)-1])
}

// TestWarmRanks: the ranks of a program take up the same trials, are paused together, and go on together.
func TestWarmRanks(t *testing.T) {
	b := newWarmBench(t, true, func(s *sweep.Sweep) {
		s.Parallel, s.Params, s.Trials, s.Epochs, s.Algorithm = 1, []string{"x=choice:2,3,4"}, 3, 6, "asha+grid"
	})
	script := "#!/bin/sh\nexec \"$SLUICE\" ranks --per-node 2 -- /usr/bin/python3 " + filepath.Join(b.dir, "trial.py") + "\n"
	b.must(os.WriteFile(filepath.Join(b.folder(), checkpoint.Script), []byte(script), 0o700))
	program := strings.ReplaceAll(warmProgram, `note("epoch", trial.number,`, `note("epoch%d" % sluice.rank(), trial.number,`)
	program = strings.ReplaceAll(program, "with sluice.checkpoint(step=epoch, epoch=epoch) as folder:", "with sluice.checkpoint(step=epoch, epoch=epoch) as folder:\n              if sluice.rank() == 0:")
	b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(program), 0o644))
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "EPOCHS=6", "PAUSE=0.3")
	b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 0 })
	b.asksToSave(101)
	b.withdraws(101)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	if v.Book.Trials[0].Start != 2 {
		t.Errorf("%+v", v.Book.Trials[0])
	}
	of := map[string][]string{}
	for _, s := range b.steps() {
		if strings.HasPrefix(s.what, "epoch") && !slices.Contains(of[s.what], s.process) {
			of[s.what] = append(of[s.what], s.process)
		}
	}
	if len(of) != 2 || len(of["epoch0"]) != 1 || len(of["epoch1"]) != 1 {
		t.Errorf("the ranks were %v", of)
	}
	for _, trial := range v.Book.Trials {
		if trial.State != book.Done && trial.State != book.Paused {
			t.Errorf("%+v", trial)
		}
		output, err := os.ReadFile(filepath.Join(v.trialFolder(trial.Number), sweep.OutputFile))
		if want := fmt.Sprintf("this is trial %d\n", trial.Number); err != nil || strings.Count(string(output), want) != 2*trial.Start {
			t.Errorf("output of trial %d: %s, %v", trial.Number, output, err)
		}
	}
}

// killsAnywhere runs two lanes and kills so many times, 300 ms to 300 ms + pause apart (pause in ms): in one case of 4
// sluiced, in often cases what kill kills of a drawn lane, else that lane.
func (b *sweepBench) killsAnywhere(random *rand.Rand, times, pause, often int, kill func(lane *exec.Cmd), environ ...string) {
	restarts, lanes, waits := map[int]int{101: 0, 102: 0}, map[int]*exec.Cmd{}, map[int]int{}
	up := func() (all []int) {
		for job := range restarts {
			if _, waiting := waits[job]; !waiting {
				all = append(all, job)
			}
		}
		return all
	}
	b.slurm(up(), waits)
	b.starts()
	for job := range restarts {
		lanes[job] = b.lane(job, 0, environ...)
	}
	for range times {
		time.Sleep(time.Duration(300+random.IntN(pause)) * time.Millisecond)
		job := 101 + random.IntN(2)
		switch drawn := random.IntN(4); {
		case drawn == 0: // sluiced
			b.stop()
			b.starts()
		case drawn <= often:
			kill(lanes[job])
		default: // a lane, which Slurm requeues
			b.must(lanes[job].Process.Kill())
			lanes[job].Wait()
			restarts[job]++
			waits[job] = restarts[job]
			b.slurm(up(), waits)
			time.Sleep(50 * time.Millisecond)
			delete(waits, job)
			b.slurm(up(), waits)
			lanes[job] = b.lane(job, restarts[job], environ...)
		}
	}
}

// TestWarmKilledAnywhere: lanes, programs and sluiced are killed at drawn moments. No two processes train a
// trial at the same time, no trial is lost, and the sweep comes to its end.
func TestWarmKilledAnywhere(t *testing.T) {
	b := newWarmBench(t, true, func(s *sweep.Sweep) {
		s.Params, s.Trials, s.Epochs, s.MaxFailures = []string{"x=choice:1,2,3,4,5,6,7,8"}, 8, 6, 100
	})
	random := rand.New(rand.NewPCG(20261128, 1))
	b.killsAnywhere(random, 7, 700, 1, func(*exec.Cmd) { // a program
		if steps := b.steps(); len(steps) > 0 {
			pid, err := strconv.Atoi(steps[len(steps)-1].process)
			b.must(err)
			syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}, "PAUSE=0.1", "EPOCHS=6")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	if len(v.Book.Trials) != 8 {
		t.Errorf("%+v", v.row())
	}
	points := map[string]bool{}
	for _, trial := range v.Book.Trials {
		if points[trial.Point] || trial.State != book.Done && trial.State != book.Failed {
			t.Errorf("%+v", trial)
		}
		points[trial.Point] = true
	}
	last, done := map[int]string{}, map[string]bool{}
	for _, s := range b.steps() {
		key := fmt.Sprint(s.trial, " ", s.process)
		if s.what == "epoch" && last[s.trial] != s.process {
			if done[key] {
				t.Errorf("two processes trained trial %d at once", s.trial)
			}
			last[s.trial], done[key] = s.process, true
		}
	}
}
