package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A job grows onto idle GPUs, shrinks for an arriving job, and grows again when that ends, on one node
// and across nodes, under the same job id, and trains every step once.
func TestGrowAndShrink(t *testing.T) {
	t.Parallel()
	s := play(t)
	a := s.submit("a", "", 150, nil)
	a.runsOn(12)
	b := s.submit("b", "", 10, []string{"--max-gpus=4"})
	b.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	c := s.submit("c", "", 6, []string{"--max-gpus=4"})
	c.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	for _, j := range []*job{c, b} {
		j.completes()
	}
	a.runsOn(12)
	tr := a.completes()
	if tr.Grown < 1 || tr.Shrunk < 1 {
		t.Errorf("runs on %v GPUs: want growth and shrinkage", tr.Worlds)
	}
	if got := a.field("JobId"); got != fmt.Sprint(a.id) {
		t.Errorf("job %d is now %s", a.id, got)
	}
	rows := strings.Count(s.as("", "sluice", "history", "-h", fmt.Sprint(a.id)), "\n") + 1
	if rows != len(tr.Worlds) {
		t.Errorf("history has %d rows for %d runs", rows, len(tr.Worlds))
	}
}

// On a full cluster a newcomer has its minimum within one grace period.
func TestArrivalOnFullCluster(t *testing.T) {
	t.Parallel()
	s := play(t)
	a := s.submit("a", "", 1000, nil)
	a.runsOn(12)
	began := time.Now()
	b := s.submit("b", "", 3, []string{"--max-gpus=2"})
	b.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the newcomer waited %s, a grace period is 20s", took)
	}
	b.completes()
	s.cancel(a)
}

// A split with different numbers on the nodes is planned as Slurm fills it, and
// the true one is read back.
func TestUnevenSplit(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 4))
	a := s.submit("a", "", 30, []string{"--allow-uneven", "--max-gpus=6"})
	s.as("", "sluice", "resize", fmt.Sprint(a.id), "--gpus", "5")
	v := a.runsOn(5)
	if len(v.Place) != 2 || v.Place[0].GPUs != 4 || v.Place[1].GPUs != 1 {
		t.Errorf("5 GPUs on two nodes of 4 are %s, Slurm fills greedily: want 4 and 1", v.Place)
	}
	out := s.as("", "scontrol", "-d", "-o", "show", "job", fmt.Sprint(a.id))
	if !strings.Contains(out, "GRES=gpu:4") || !strings.Contains(out, "GRES=gpu:1") {
		t.Errorf("Slurm says otherwise: %s", out)
	}
	s.as("", "sluice", "resize", fmt.Sprint(a.id), "--gpus", "auto")
	a.completes()
}

// Ordinary jobs run undisturbed, and elastic jobs shrink for them when they wait.
func TestOrdinaryJobs(t *testing.T) {
	t.Parallel()
	s := play(t)
	a := s.submit("a", "", 1000, nil)
	a.runsOn(12)
	first, err := s.Sbatch(s.ctx, "", "--gres=gpu:3", "--wrap=sleep 15")
	s.must(err)
	ordinary := &job{s: s, id: first}
	s.must(site.Until(s.ctx, 40*time.Second, "the ordinary job to be yielded to", func() (bool, error) {
		return ordinary.field("JobState") == "RUNNING", nil
	}))
	if state := ordinary.ends(); state != "COMPLETED" || ordinary.field("Restarts") != "0" {
		t.Errorf("the ordinary job: %s, restarts %s", state, ordinary.field("Restarts"))
	}
	a.runsOn(12)
	s.cancel(a)
}

// Real PyTorch DDP across two nodes: grows and shrinks, trains every step once.
func TestDistributedTraining(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2))
	a := &job{s: s, name: "ddp", epochs: 16}
	script := s.Home("") + "/ddp.sh"
	s.write(script, fmt.Sprintf("#!/bin/bash\nexec srun \"$SLUICE\" ranks -- /usr/bin/python3 -u %s --epochs %d --steps-per-epoch %d --emulate-step-seconds 0.6 --steps-log %s\n",
		s.Path("python", "examples", "train_ddp.py"), a.epochs, perEpoch, a.stepsLog()))
	id, err := s.Submit(s.ctx, "", fmt.Sprintf("--epochs=%d", a.epochs), "--max-gpus=4", "--output=ddp.out", script)
	s.must(err)
	a.id = id
	a.runsOn(4) // it starts on its minimum
	s.as("", "sluice", "resize", fmt.Sprint(id), "--gpus", "1")
	a.runsOn(1)
	s.as("", "sluice", "resize", fmt.Sprint(id), "--gpus", "4")
	tr := a.completes()
	if !strings.HasSuffix(fmt.Sprint(tr.Worlds), "4 1 4]") {
		t.Errorf("trained on %v GPUs, want 4, 1 and 4 in the end", tr.Worlds)
	}
}
