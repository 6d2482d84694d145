package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// progressOf are the lines of a job's own progress log.
func (b *sweepBench) progressOf(job int) (out []checkpoint.Progress) {
	b.t.Helper()
	f, err := os.Open(filepath.Join(b.jobs, laneToken(job), checkpoint.ProgressFile))
	b.must(err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p checkpoint.Progress
		b.must(json.Unmarshal(lines.Bytes(), &p))
		out = append(out, p)
	}
	return out
}

// asks asks a lane to save and stop, as sluiced does.
func (b *sweepBench) asks(job int, id string) {
	b.t.Helper()
	now := time.Now().UTC()
	text, err := json.Marshal(checkpoint.Request{Version: 1, Job: int64(job), ID: id, Incarnation: 2, Asked: now, Deadline: now.Add(time.Minute), Why: "a test", Stop: true})
	b.must(err)
	dir, err := checkpoint.OpenDir(b.outbox)
	b.must(err)
	defer dir.Close()
	sub, err := dir.Make(laneToken(job), 0o755)
	b.must(err)
	defer sub.Close()
	b.must(sub.Write(checkpoint.RequestFile, text, 0o644))
}

// asked is asks, and waits for the answer.
func (b *sweepBench) asked(job int, id string) checkpoint.Manifest {
	b.t.Helper()
	b.asks(job, id)
	folder := filepath.Join(b.jobs, laneToken(job))
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		word, err := runnerWord(folder)
		if err != nil || word.Answer == nil || word.Answer.Request != id || word.Answer.Checkpoint == "" {
			continue
		}
		var m checkpoint.Manifest
		data, err := os.ReadFile(filepath.Join(folder, checkpoint.Checkpoints, filepath.Base(word.Answer.Checkpoint), checkpoint.ManifestFile))
		b.must(err)
		b.must(json.Unmarshal(data, &m))
		return m
	}
	b.t.Fatalf("job %d does not answer", job)
	return checkpoint.Manifest{}
}

// TestOwnJobs: each job runs one trial and ends. One that is resized goes on with its own trial from its
// checkpoint, though another job asked first; the trial's progress is the job's.
func TestOwnJobs(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.Epochs, s.OwnJobs = []string{"x=choice:1,2"}, 2, 12, true })
	b.slurm([]int{101}, map[int]int{102: 0})
	b.starts()
	first := b.lane(101, 0, "PAUSE=0.2", "EPOCHS=12")
	b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 1 })
	saved := b.asked(101, "r-1")
	b.must(first.Process.Signal(syscall.SIGTERM))
	first.Wait()
	b.must(os.Remove(filepath.Join(b.outbox, laneToken(101), checkpoint.RequestFile)))
	b.slurm([]int{102}, map[int]int{101: 1})
	second := b.lane(102, 0, "PAUSE=0.01", "EPOCHS=12")
	b.until("the second job to begin", func(v *sweepView) bool { return len(v.Book.Trials) == 2 })
	b.slurm([]int{101, 102}, nil)
	again := b.lane(101, 1, "PAUSE=0.01", "EPOCHS=12")
	v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
	for _, cmd := range []*exec.Cmd{second, again} {
		b.must(cmd.Wait())
	}
	for i, trial := range v.Book.Trials {
		if trial.State != book.Done || trial.Start != 2-i || len(trial.Curve) != 12 || trial.Lane != laneToken(101+i) {
			t.Errorf("%+v", trial)
		}
		b.eachOnce(trial.Number, 12)
	}
	lines := b.progressOf(101)
	var epochs []float64
	runs, hello := map[int]bool{}, false
	for _, p := range lines {
		hello = hello || p.Event == "hello"
		if p.Event == "progress" {
			epochs = append(epochs, p.Done)
			runs[p.Restarts] = true
		}
	}
	want := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if !hello || !slices.Equal(epochs, want) || len(runs) != 2 {
		t.Errorf("the job reports %v in runs %v: %+v", epochs, runs, lines)
	}
	if saved.Epoch < 2 || saved.Epoch > 12 {
		t.Errorf("it saved at epoch %v", saved.Epoch)
	}
}

// TestOwnJobWithoutHello: a trial whose program has reported and not said hello goes on when its job is asked
// to save: the job is not resized. A program that says hello only then saves.
func TestOwnJobWithoutHello(t *testing.T) {
	for name, program := range map[string]string{
		"never": strings.ReplaceAll(trialProgram, "sluice.should_checkpoint()", "False"),
		"late":  strings.ReplaceAll(trialProgram, "sluice.should_checkpoint()", "epoch >= 6 and sluice.should_checkpoint()"),
	} {
		b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.Epochs, s.OwnJobs = []string{"x=choice:1"}, 1, 8, true })
		b.must(os.WriteFile(filepath.Join(b.dir, "trial.py"), []byte(program), 0o644))
		b.slurm([]int{101}, nil)
		b.starts()
		first := b.lane(101, 0, "PAUSE=0.3", "EPOCHS=8")
		b.until("a report", func(v *sweepView) bool { return len(v.Book.Trials) == 1 && len(v.Book.Trials[0].Curve) > 0 })
		if name == "late" {
			if saved := b.asked(101, "r-1"); saved.Epoch < 6 {
				t.Errorf("%s: it saved at epoch %v", name, saved.Epoch)
			}
			b.must(first.Process.Kill())
			first.Wait()
			continue
		}
		b.asks(101, "r-1")
		b.until("more reports", func(v *sweepView) bool { return len(v.Book.Trials[0].Curve) > 4 })
		b.withdraws(101)
		v := b.until("the sweep to end", func(v *sweepView) bool { return v.Book.Over == book.AllTried })
		b.must(first.Wait())
		trial := v.Book.Trials[0]
		word, err := runnerWord(filepath.Join(b.jobs, laneToken(101)))
		if trial.State != book.Done || trial.Start != 1 || len(trial.Curve) != 8 || err == nil && word.Answer != nil {
			t.Errorf("%s: %+v, %+v, %v", name, trial, word.Answer, err)
		}
		b.eachOnce(trial.Number, 8)
	}
}

// TestElasticLane: a lane of several sizes reports the epochs of its trials one after the other, with their
// speed.
func TestElasticLane(t *testing.T) {
	b := newSweepBench(t, func(s *sweep.Sweep) { s.Params, s.Trials, s.Parallel = []string{"x=choice:1,2"}, 2, 1 })
	b.slurm([]int{101}, nil)
	b.starts()
	b.must(b.lane(101, 0, "PAUSE=0.05").Wait())
	last, timed := 0., 0
	for _, p := range b.progressOf(101) {
		if p.Done < last {
			t.Errorf("%v after %v", p.Done, last)
		}
		if last = p.Done; p.Seconds > 0 {
			timed++
		}
	}
	if last != 8 || timed == 0 {
		t.Errorf("it ends at %v of 8 epochs, of which %d have a time", last, timed)
	}
}
