package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control"
)

// checkpoints counts the complete checkpoints of a job that are kept.
func (j *job) checkpoints() int {
	found, err := filepath.Glob(filepath.Join(j.s.Jobs, j.view().Token, checkpoint.Checkpoints, "*", checkpoint.ManifestFile))
	j.s.must(err)
	return len(found)
}

// killWorker kills a job's training program as its user, or the kernel, might.
func (j *job) killWorker() {
	j.s.t.Helper()
	j.s.as("", "pkill", "-KILL", "-f", "loop.py --steps-log "+j.stepsLog())
}

// lost bounds what may be trained twice after a failure: what lies between two
// checkpoints, and what was under way.
func (j *job) lost(most int) {
	j.s.t.Helper()
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	j.s.must(err)
	if tr.Missing > 0 || tr.Repeated > most {
		j.s.t.Errorf("%d steps missing, %d trained twice (at most %d), of %d", tr.Missing, tr.Repeated, most, tr.Steps)
	}
}

// TestCrashes: by time a job saves without anybody's asking; what kills its program, its
// run or its node costs it what it did since.
func TestCrashes(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2))
	t.Run("typo", func(t *testing.T) {
		script := filepath.Join(s.Home(""), "typo.sh")
		s.write(script, "#!/bin/bash\npyton train.py\n")
		id, err := s.Submit(s.ctx, "", "--max-gpus=1", script)
		s.must(err)
		j, began := &job{s: s, id: id}, time.Now()
		if state, code := j.ends(), j.field("ExitCode"); state != "FAILED" || code != "127:0" || time.Since(began) > 20*time.Second {
			t.Errorf("ended as %s with %s after %v, want FAILED with 127:0 at once", state, code, time.Since(began))
		}
	})
	j := s.submit("crashes", "", 80, []string{"--min-gpus=2", "--max-gpus=2", "--checkpoint-every=10s"})
	j.runsOn(2)
	saved := func(more int) {
		t.Helper()
		before := j.view().Restarts
		s.must(site.Until(s.ctx, time.Minute, "a checkpoint by time", func() (bool, error) { return j.checkpoints() >= more, nil }))
		if j.view().Restarts != before {
			t.Error("it was restarted in order to save")
		}
	}
	saved(1)
	// Its worker is killed: the same run goes on after the first pause.
	j.killWorker()
	s.must(site.Until(s.ctx, 2*time.Minute, "it to be started again", func() (bool, error) {
		return strings.Contains(j.output(), "retry 1 of 2") && strings.Contains(j.output(), "resumed from checkpoint"), nil
	}))
	saved(2)
	// Somebody else requeues it.
	s.as("", "scontrol", "requeue", fmt.Sprint(j.id))
	j.until("to run again", func(v control.Job) bool { return v.State == "RUNNING" && v.Restarts == 1 && v.Resumed != "" })
	saved(2)
	// Its node is lost.
	at := j.view().Place[0].Node
	s.must(s.Lab.CrashNode(s.ctx, at))
	s.must(s.Lab.SetDown(s.ctx, at, "crashed"))
	j.until("to run elsewhere", func(v control.Job) bool { return v.State == "RUNNING" && v.Restarts == 2 && v.Resumed != "" })
	s.must(s.Lab.StartSlurmd(s.ctx, at))
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	j.lost(3 * 60)
}

// output is what the job printed so far.
func (j *job) output() string {
	b, _ := os.ReadFile(filepath.Join(j.s.Home(j.user), j.name+".out"))
	return string(b)
}

// TestSaveAndRequeueOnOrder: sluice checkpoint --wait prints what was saved, and the job
// trains on; sluice requeue loses nothing.
func TestSaveAndRequeueOnOrder(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("orders", "", 60, []string{"--min-gpus=2", "--max-gpus=2"})
	j.runsOn(2)
	if out := s.as("", "sluice", "checkpoint", fmt.Sprint(j.id), "--wait"); !strings.Contains(out, fmt.Sprintf("job %d saved checkpoint 0000000", j.id)) {
		t.Errorf("said %q", out)
	}
	if r := j.field("Restarts"); r != "0" {
		t.Errorf("%s restarts after a checkpoint", r)
	}
	s.as("", "sluice", "requeue", fmt.Sprint(j.id))
	// Once is enough: who asks again is told so when it has stopped already.
	if _, err := s.Run(s.ctx, "", "sluice", "requeue", fmt.Sprint(j.id)); err != nil && !strings.Contains(err.Error(), "does not run") {
		t.Errorf("asked again: %v", err)
	}
	j.until("to run again", func(v control.Job) bool {
		return v.State == "RUNNING" && v.Restarts == 1 && v.Resumed != "" && v.Move == nil
	})
	if tr := j.completes(); tr.Repeated > 0 || j.field("Restarts") != "1" {
		t.Errorf("%d steps trained twice, %s restarts", tr.Repeated, j.field("Restarts"))
	}
}

// TestGoesOnAfterItsTimeLimit: a job whose work takes longer than its time limit saves
// before it, waits again and completes.
func TestGoesOnAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("limits", "", 90, []string{"--max-gpus=2", "--time=1"}, "--seconds", "0.5")
	if tr := j.completes(); tr.Moves < 1 || tr.Repeated > 0 {
		t.Errorf("%d restarts, %d steps trained twice", tr.Moves, tr.Repeated)
	}
}
