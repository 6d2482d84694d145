package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A script without #SLUICE lines does not take the cluster. With sbatch's own GPU count it keeps that
// size, on one node if the count is per node; without any count it is refused with what to type. An
// elastic job that never answers stays at its minimum while others start at once. A job that answers
// grows after its first checkpoint, and the same script starts larger the next time.
func TestUnproven(t *testing.T) {
	t.Parallel()
	s := play(t)
	script := func(name, text string) string {
		path := filepath.Join(s.Home(""), name)
		s.must(site.Put(path, []byte("#!/bin/bash\n"+text+"\n"), 0o755))
		return path
	}
	submit := func(args ...string) *job {
		t.Helper()
		id, err := s.Submit(s.ctx, "", args...)
		s.must(err)
		return &job{s: s, id: id}
	}
	running := func(j *job, gpus int) wire.Job {
		t.Helper()
		return j.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs == gpus && v.Move == nil })
	}

	plain := submit(script("plain.sh", "#SBATCH --gpus=2\nsleep 600"))
	if v := running(plain, 2); v.Min != 2 || v.Max != 2 {
		t.Errorf("the plain script may have %d to %d GPUs, want 2", v.Min, v.Max)
	}
	gres := submit(script("gres.sh", "#SBATCH --gres=gpu:3 --nodes=1\nsleep 600"))
	if v := running(gres, 3); len(v.Place) != 1 {
		t.Errorf("--gres=gpu:3 runs on %s, want one node", v.Place)
	}
	_, err := s.Submit(s.ctx, "", script("nothing.sh", "sleep 600"))
	if err == nil || !strings.Contains(err.Error(), "for a fixed size give --gpus=N") {
		t.Errorf("a script without any size: %v", err)
	}

	silent := submit("--max-gpus=12", script("silent.sh", "sleep 600"))
	running(silent, 1)
	began := time.Now()
	taught, args := s.loop("taught", "", 400, []string{"--max-gpus=4"})
	taught.id, err = s.Submit(s.ctx, "", args...)
	s.must(err)
	taught.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the next job started after %s", took)
	}
	taught.runsOn(4)
	if tr, err := site.ReadTraining(taught.stepsLog(), 400, perEpoch); err != nil || len(tr.Worlds) == 0 || tr.Worlds[0] != 1 {
		t.Errorf("runs on %v GPUs, %v: want the first on 1", tr.Worlds, err)
	}
	s.cancel(taught)
	s.must(os.Remove(taught.stepsLog()))
	again := submit(args...)
	again.name = "again"
	v := again.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	if v.GPUs != 4 || v.Restarts != 0 {
		t.Errorf("the same script starts on %d GPUs (%s), want 4", v.GPUs, v.Reason)
	}
	if v := silent.view(); v.GPUs != 1 || v.Restarts != 0 || !strings.Contains(v.Reason, "stays at 1 GPU: no checkpoint seen yet") {
		t.Errorf("the silent job has %d GPUs after %d restarts: %s", v.GPUs, v.Restarts, v.Reason)
	}
	s.cancel(plain, gres, silent, again)
}
