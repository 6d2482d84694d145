package main_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestLateWord: a node is lost and returns, the job runs again, and Slurm's late kill request for the
// lost run ends this one: its runner is killed, and Slurm marks the job FAILED. sluice requeues it,
// and every step is trained. Long after a node's loss, or without one, a killed job stays FAILED
// (TestMisbehavingPrograms).
func TestLateWord(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("late", "", 30, []string{"--min-gpus=2", "--max-gpus=2"})
	at := j.runsOn(2).Place[0].Node
	s.must(s.Lab.CrashNode(s.ctx, at))
	s.must(s.Lab.SetDown(s.ctx, at, "test"))
	j.until("to be requeued", func(v wire.Job) bool { return v.State != "RUNNING" })
	s.must(s.Lab.StartSlurmd(s.ctx, at))
	again := j.runsOn(2)
	mail, err := checkpoint.NewMailbox(s.Jobs, s.Outbox)
	s.must(err)
	s.must(site.Until(s.ctx, time.Minute, "the new run's runner to speak", func() (bool, error) {
		word, ok, err := mail.Runner(again.Token, again.UID)
		if err != nil || !ok || word.State != checkpoint.Training || fmt.Sprint(word.Restarts) != j.field("Restarts") {
			return false, err
		}
		return true, syscall.Kill(word.PID, syscall.SIGKILL)
	}))
	// For a short time Slurm shows it as FAILED.
	if err := site.Until(s.ctx, 5*time.Minute, "the job to complete", func() (bool, error) { return j.field("JobState") == "COMPLETED", nil }); err != nil {
		t.Errorf("%v:\n%s", err, s.as("", "sluice", "explain", fmt.Sprint(j.id)))
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	s.must(err)
	if tr.Missing > 0 || j.field("Restarts") != "2" {
		t.Errorf("%d steps were never trained, %s restarts", tr.Missing, j.field("Restarts"))
	}
}
