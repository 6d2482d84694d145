package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// slotProgram is trialProgram with GPUs that trials share: a sleep, which any number of trials can do at
// once, or a lock, which one at a time has.
const slotProgram = `import fcntl, json, os, sys, time
import sluice
x = sluice.params()["x"]
saved = sluice.resume()
epoch = json.loads((saved / "state.json").read_text())["epoch"] if saved else 0
gpu = open(os.environ["LOG"] + ".gpu", "a")
running = open(os.environ["LOG"] + ".trial%s" % os.environ["SLUICE_TRIAL"], "a")
fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB) # the trial runs once at a time
while epoch < int(os.environ.get("EPOCHS", "40")):
    pause = float(os.environ.get("PAUSE", "0.1"))
    if os.environ.get("LOCK"):
        try:
            fcntl.flock(gpu, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError: # another trial has it
            fcntl.flock(gpu, fcntl.LOCK_EX)
            pause *= 3
    time.sleep(pause)
    fcntl.flock(gpu, fcntl.LOCK_UN)
    time.sleep(0.001)
    epoch += 1
    with open(os.environ["LOG"], "a") as log:
        log.write("%s %d\n" % (os.environ["SLUICE_TRIAL"], epoch))
    if os.environ.get("MEMORY") and x == float(os.environ["MEMORY"]) and os.path.exists(os.environ["CROWD"]):
        sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    sluice.report(epoch=epoch, score=epoch * x)
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
            (folder / "state.json").write_text(json.dumps({"epoch": epoch}))
sluice.finished()
`

// newSlotBench is a sweep whose lanes may run several trials at once.
func newSlotBench(t *testing.T, perGPU int, change func(*sweep.Sweep)) *sweepBench {
	t.Parallel() // they sleep for most of the time
	b := newSweepBench(t, func(s *sweep.Sweep) {
		s.PerGPU, s.Parallel, s.Epochs, s.Params = perGPU, 1, 40, []string{"x=choice:1,2,3,4,5,6"}
		s.Trials = 6
		change(s)
	})
	b.measure = "600ms"
	b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(slotProgram), 0o644))
	return b
}

// allDone checks that each trial is done with its whole curve, and that each epoch was trained once.
func (b *sweepBench) allDone(v *sweepView, trials, epochs int) {
	b.t.Helper()
	if len(v.Book.Trials) != trials {
		b.t.Errorf("%+v", v.row())
	}
	for _, trial := range v.Book.Trials {
		if trial.State != book.Done || len(trial.Curve) != epochs {
			b.t.Errorf("%+v", trial)
		}
		b.eachOnce(trial.Number, epochs)
	}
}

// TestSlotsPay: where trials do not slow each other down a lane runs two at once, says so, and none is run twice.
func TestSlotsPay(t *testing.T) {
	b := newSlotBench(t, 2, func(s *sweep.Sweep) { s.Trials = 5 })
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	b.allDone(v, 5, 40)
	if v = b.view(); len(v.Sharing) != 1 || v.Sharing[0].Trials != 2 || v.Sharing[0].Tried[0].Speed < 1.3 || v.AtOnce() != 2 {
		t.Errorf("%+v", v.Sharing)
	}
	if _, err := os.Stat(filepath.Join(b.jobs, laneToken(101), "trials.2.jsonl")); err != nil {
		t.Error(err)
	}
}

// TestSlotsDoNotPay: where one trial at a time has the GPU, and is slower if another one waits for it, a lane goes
// back to one, and what the other trials did is not lost.
func TestSlotsDoNotPay(t *testing.T) {
	b := newSlotBench(t, 2, func(s *sweep.Sweep) { s.Params, s.Trials = []string{"x=choice:1,2,3"}, 3 })
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "LOCK=1")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	b.allDone(v, 3, 40)
	if v = b.view(); len(v.Sharing) != 1 || v.Sharing[0].Trials != 1 || v.Sharing[0].Tried[0].Speed > 1.1 {
		t.Errorf("%+v", v.Sharing)
	}
}

// TestSlotsMeasureLosers: trials that lose at an early rung are measured all the same, and then paused.
func TestSlotsMeasureLosers(t *testing.T) {
	b := newSlotBench(t, 2, func(s *sweep.Sweep) {
		s.Algorithm, s.Rungs, s.Params, s.Trials = "asha+grid", []int{2}, []string{"x=choice:8,7,6,5,4,3"}, 6
	})
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	if len(v.Sharing) != 1 || v.Sharing[0].Trials != 2 || v.Sharing[0].Short || v.Book.Count(book.Paused) < 3 {
		t.Errorf("%+v, %d paused", v.Sharing, v.Book.Count(book.Paused))
	}
	for _, trial := range v.Book.Trials {
		if last, _ := trial.Last(); trial.State == book.Paused && (trial.Rung != 2 || last.Epoch > 30) || trial.State == book.Failed {
			t.Errorf("%+v", trial)
		}
	}
}

// crowd is what a trial's program can see of others in its lane.
func (b *sweepBench) crowd(job int) string {
	return "CROWD=" + filepath.Join(b.jobs, laneToken(job), "lane", "crowd")
}

// TestSlotsMemory: a trial that runs out of memory beside others did not fail: it goes on alone, and the lane runs
// one at a time from then on.
func TestSlotsMemory(t *testing.T) {
	b := newSlotBench(t, 2, func(s *sweep.Sweep) { s.Params, s.Trials, s.MaxFailures = []string{"x=choice:1,2,3"}, 3, 1 })
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "MEMORY=2", b.crowd(101))
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over != book.NotOver })
	b.must(cmd.Wait())
	for _, trial := range v.Book.Trials {
		if trial.State != book.Done || len(trial.Curve) != 40 || trial.Point == "x=2" && trial.Start < 2 {
			t.Errorf("%+v", trial)
		}
	}
	if v = b.view(); len(v.Sharing) != 1 || v.Sharing[0].Trials != 1 || !v.Sharing[0].Memory || v.Book.Failures() > 0 || v.Book.Over != book.AllTried {
		t.Errorf("%+v, %s", v.Sharing, v.Book.Over)
	}
}

// TestSlotsFollow: a lane runs two trials at once without measuring, where another one with as many GPUs has.
func TestSlotsFollow(t *testing.T) {
	b := newSlotBench(t, 2, func(*sweep.Sweep) {})
	b.must(os.WriteFile(filepath.Join(b.folder(), sweep.SharingFile(0, "")), []byte(`{"version":1,"gpus":0,"trials":2}`), 0o600))
	b.measure = "1h"
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "PAUSE=0.02")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	b.allDone(v, 6, 40)
	second := 0
	for _, trial := range v.Book.Trials {
		if trial.Lane == laneToken(101)+".2" {
			second++
		}
	}
	if second < 2 || second > 4 {
		t.Errorf("%d of 6 trials ran in the second slot", second)
	}
}

// TestSlotsStopped: a lane that is asked to save has all its trials save, and they go on elsewhere.
func TestSlotsStopped(t *testing.T) {
	b := newSlotBench(t, 2, func(s *sweep.Sweep) { s.Params, s.Trials, s.Parallel = []string{"x=choice:1,2"}, 2, 2 })
	b.must(os.WriteFile(filepath.Join(b.folder(), sweep.SharingFile(0, "")), []byte(`{"version":1,"gpus":0,"trials":2}`), 0o600))
	b.slurm([]int{101}, nil)
	b.starts()
	first := b.lane(101, 0, "PAUSE=0.2")
	b.until("reports of both", func(v *sweepView) bool {
		return len(v.Book.Trials) == 2 && len(v.Book.Trials[0].Curve) > 0 && len(v.Book.Trials[1].Curve) > 0
	})
	b.asksToSave(101)
	for _, trial := range b.view().Book.Trials {
		if trial.State == book.Running || trial.Checkpoint == "" {
			t.Errorf("after the lane has answered: %+v", trial)
		}
	}
	b.stop()
	b.must(first.Process.Signal(syscall.SIGTERM))
	first.Wait()
	b.slurm([]int{102}, map[int]int{101: 1})
	b.starts()
	second := b.lane(102, 0, "PAUSE=0.01")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(second.Wait())
	b.allDone(v, 2, 40)
	for _, trial := range v.Book.Trials {
		if trial.Start != 2 || sweep.LaneOf(trial.Lane) != laneToken(102) {
			t.Errorf("%+v", trial)
		}
	}
}

// TestSlotsGoOn: where the request is withdrawn, all trials go on in the lane that saved them.
func TestSlotsGoOn(t *testing.T) {
	b := newSlotBench(t, 2, func(s *sweep.Sweep) { s.Params, s.Trials = []string{"x=choice:1,2"}, 2 })
	b.must(os.WriteFile(filepath.Join(b.folder(), sweep.SharingFile(0, "")), []byte(`{"version":1,"gpus":0,"trials":2}`), 0o600))
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "PAUSE=0.05")
	b.until("reports of both", func(v *sweepView) bool {
		return len(v.Book.Trials) == 2 && len(v.Book.Trials[0].Curve) > 0 && len(v.Book.Trials[1].Curve) > 0
	})
	b.asksToSave(101)
	b.withdraws(101)
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	b.allDone(v, 2, 40)
}

// slotProcess is a slot of a lane that runs; 0 = none does.
func slotProcess(cmd *exec.Cmd, slot int) int {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		text, _ := os.ReadFile(name)
		if !strings.Contains(string(text), fmt.Sprintf("\x00--slot=%d\x00", slot)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		for up := pid; err == nil && up > 1; {
			if up == cmd.Process.Pid {
				return pid
			}
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", up))
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if len(fields) < 2 {
				break
			}
			up, err = strconv.Atoi(fields[1])
		}
	}
	return 0
}

// TestStepsOfAKilledSlotEnd: the lane ends what steps of Slurm left running of a slot's trial if the slot was killed,
// before the trial is told to a slot again.
func TestStepsOfAKilledSlotEnd(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.PerGPU = []string{"x=fixed:0.5"}, 1, 2 })
	lane, starts := b.sleeper()
	step := starts()
	pid := slotProcess(lane, 1)
	if pid == 0 {
		t.Fatal("no slot runs")
	}
	b.must(syscall.Kill(pid, syscall.SIGKILL))
	b.until("the next start", func(v *sweepView) bool { return v.Book.Trials[0].Start == 2 })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", step.Process.Pid))
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the step runs on: %s", stat)
	}
	step.Process.Kill()
	step.Wait()
}

// TestSlotsKilledAnywhere: lanes, slots and sluiced are killed at drawn moments, while trials are measured and
// after. No trial is lost, none runs twice at once, and none fails.
func TestSlotsKilledAnywhere(t *testing.T) {
	b := newSlotBench(t, 3, func(s *sweep.Sweep) {
		s.Params, s.Trials, s.Epochs, s.Parallel = []string{"x=choice:1,2,3,4,5,6,7,8"}, 8, 20, 2
	})
	b.measure = "300ms"
	random := rand.New(rand.NewPCG(20261128, 2))
	b.killsAnywhere(random, 10, 900, 2, func(lane *exec.Cmd) { // a slot
		if pid := slotProcess(lane, 1+random.IntN(2)); pid > 0 {
			syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}, "EPOCHS=20")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	points := map[string]bool{}
	for _, trial := range v.Book.Trials {
		if last, _ := trial.Last(); points[trial.Point] || trial.State != book.Done || last.Epoch != 20 {
			t.Errorf("%+v", trial)
		}
		points[trial.Point] = true
	}
	if len(points) != 8 {
		t.Errorf("%d points", len(points))
	}
}

// TestSlotsWarm: each slot has a process of its own that trains trial after trial.
func TestSlotsWarm(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t, true, func(s *sweep.Sweep) {
		s.PerGPU, s.Parallel, s.Params, s.Trials = 2, 1, []string{"x=choice:2,3,4,5,6,7"}, 6
	})
	b.must(os.WriteFile(filepath.Join(b.folder(), sweep.SharingFile(0, "")), []byte(`{"version":1,"gpus":0,"trials":2}`), 0o600))
	b.slurm([]int{101}, nil)
	b.starts()
	cmd := b.lane(101, 0, "PAUSE=0.2")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	b.must(cmd.Wait())
	all := map[string]bool{}
	for trial, of := range b.processes() {
		if len(of) != 1 {
			t.Errorf("trial %d was trained by %v", trial, of)
		}
		all[of[0]] = true
	}
	if len(all) != 2 || v.Book.Count(book.Done) != 6 {
		t.Errorf("%d processes; %+v", len(all), v.row())
	}
}
