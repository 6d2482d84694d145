package main_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// lightningSteps is the length of the training: 10 steps an epoch.
const lightningSteps = 40

const lightningJob = `#!/bin/bash
#SLUICE --epochs=%d --gpu-sizes=1,2,4
export OMP_NUM_THREADS=1 STEPS=%q EMULATED_STEP=0.3
srun "$SLUICE" ranks -- %s -u %q --epochs=%[1]d --samples=480
`

// The Lightning example on a real Slurm, moved from 4 GPUs on two nodes to 1 and
// to 2: every step is trained once, and its loss is that of a training that was
// never moved. GPUs are emulated; Lightning, DDP and gloo are real.
func TestLightning(t *testing.T) {
	python := pythontest.Frameworks(t)
	s := play(t, withNodes(2, 2))
	home := s.Home("")
	text, err := os.ReadFile("testdata/lightning_steps.py")
	s.must(err)
	program, script, log := filepath.Join(home, "lightning_steps.py"), filepath.Join(home, "lightning.sh"), filepath.Join(home, "steps")
	s.write(program, string(text))
	s.write(script, fmt.Sprintf(lightningJob, lightningSteps/10, log, python, program))
	id, err := s.Submit(s.ctx, "", "--output=lightning.out", script)
	s.must(err)
	j := &job{s: s, id: id}
	trained := 0.0
	for _, gpus := range []int{4, 1, 2} {
		if j.view().GPUs != gpus || trained > 0 {
			s.as("", "sluice", "resize", fmt.Sprint(id), "--gpus", fmt.Sprint(gpus))
		}
		j.runsOn(gpus)
		trained = j.until("to train on", func(v wire.Job) bool { return v.Done > trained }).Done
		t.Logf("on %d GPUs: %.1f of %d epochs", gpus, trained, lightningSteps/10)
	}
	state := j.ends()
	out, err := os.ReadFile(filepath.Join(home, "lightning.out"))
	s.must(err)
	if state != "COMPLETED" || !strings.Contains(string(out), fmt.Sprintf("finished after step %d", lightningSteps)) {
		t.Fatalf("ended as %s:\n%s", state, out)
	}
	moved, worlds := losses(t, log, lightningSteps)
	for _, gpus := range []int{1, 2, 4} {
		if !worlds[gpus] {
			t.Errorf("no step was trained on %d GPUs", gpus)
		}
	}
	s.must(os.Remove(log))
	library, err := filepath.Abs("../../checkpoint/python")
	s.must(err)
	plain := exec.CommandContext(s.ctx, python, program, fmt.Sprintf("--epochs=%d", lightningSteps/10), "--samples=480")
	plain.Dir = t.TempDir()
	plain.Env = append(os.Environ(), "PYTHONPATH="+library, "SLUICE_PYTHON="+library, "STEPS="+log, "EMULATED_STEP=0", "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=")
	if said, err := plain.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	never, _ := losses(t, log, lightningSteps)
	worst := 0.0
	for step, loss := range never {
		worst = max(worst, math.Abs(moved[step]-loss)/loss)
	}
	t.Logf("largest relative difference of a step's loss from a training that was never moved: %.1e", worst)
	if worst > 1e-5 {
		t.Error("not the same training")
	}
}

// losses returns every step's loss, and the numbers of GPUs steps were trained on. Each
// of the training's steps must be there once.
func losses(t *testing.T, log string, steps int) ([]float64, map[int]bool) {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var found []float64
	worlds := map[int]bool{}
	for line := range strings.Lines(string(data)) {
		var step, world int
		var loss float64
		if _, err := fmt.Sscan(line, &step, &loss, &world); err != nil || step != len(found)+1 {
			t.Fatalf("step %d is followed by %q, %v", len(found), line, err)
		}
		found, worlds[world] = append(found, loss), true
	}
	if len(found) != steps {
		t.Fatalf("%d steps, want %d", len(found), steps)
	}
	return found, worlds
}
