package main_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

const gpuJob = `#!/bin/bash
#SLUICE --epochs=%d --gpu-sizes=1,2,4
export OMP_NUM_THREADS=1 STEPS=%q PYTHONUNBUFFERED=1
srun "$SLUICE" ranks -- %s -u %q %s %[1]d
`

// cuda returns a Python whose PyTorch can use a GPU of this machine: that of the
// frameworks, else the first one in PATH. Without one the test is skipped.
func cuda(t *testing.T) string {
	t.Helper()
	const name = "NOT TESTED on a real GPU: "
	if devices, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(devices) == 0 {
		t.Skip(name + "this machine has none")
	}
	candidates := []string{"python3"}
	if python, err := pythontest.Find(os.Getenv); err == nil {
		candidates = []string{python, "python3"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range candidates {
		python, err := exec.LookPath(c)
		if err == nil && exec.CommandContext(ctx, python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())").Run() == nil {
			return python
		}
	}
	t.Skip(name + "no Python here has a PyTorch that can use it")
	return ""
}

// TestRealGPU: DDP and FSDP trainings that compute on a real GPU, under sluiced on a real
// Slurm, moved between sizes. Each step is trained once, with the loss of a training that
// was never moved. One GPU is enough: the lab counts it as eight, which is what is emulated here.
// What sluiced hears of NVIDIA's library meanwhile is printed, not checked: it may come too late.
func TestRealGPU(t *testing.T) {
	python := cuda(t)
	s := play(t, withNodes(2, 4))
	for _, kind := range []string{"ddp", "fsdp"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			own := *s
			own.t = t
			trainOnGPU(t, &own, python, kind)
		})
	}
}

// gpuSteps is the length of a training: 10 steps an epoch.
const gpuSteps = 160

func trainOnGPU(t *testing.T, s *scene, python, kind string) {
	home := s.Home("")
	text, err := os.ReadFile("testdata/gpu_steps.py")
	s.must(err)
	program, script, log := filepath.Join(home, "gpu_steps.py"), filepath.Join(home, kind+".sh"), filepath.Join(home, kind+".steps")
	s.write(program, string(text))
	s.write(script, fmt.Sprintf(gpuJob, gpuSteps/10, log, python, program, kind))
	id, err := s.Submit(s.ctx, "", "--output="+kind+".out", script)
	s.must(err)
	j := &job{s: s, id: id}
	trained := 0.0
	for _, gpus := range []int{4, 1, 2} {
		if j.view().GPUs != gpus || trained > 0 {
			s.as("", "sluice", "resize", fmt.Sprint(id), "--gpus", fmt.Sprint(gpus))
		}
		began := time.Now()
		j.runsOn(gpus)
		trained = j.until("to train on", func(v wire.Job) bool { return v.Done > trained }).Done
		t.Logf("on %d GPUs after %.1f s: %.1f of %d epochs", gpus, time.Since(began).Seconds(), trained, gpuSteps/10)
	}
	if v := j.view(); v.Busy != nil {
		t.Logf("NVIDIA's library: its GPUs were %.0f %% busy", 100**v.Busy)
	}
	state := j.ends()
	out, err := os.ReadFile(filepath.Join(home, kind+".out"))
	s.must(err)
	if state != "COMPLETED" || !strings.Contains(string(out), fmt.Sprintf("finished after step %d", gpuSteps)) {
		t.Fatalf("ended as %s:\n%s", state, out)
	}
	moved, worlds := losses(t, log, gpuSteps)
	for _, gpus := range []int{1, 2, 4} {
		if !worlds[gpus] {
			t.Errorf("no step was trained on %d GPUs", gpus)
		}
	}
	s.must(os.Remove(log))
	library, err := filepath.Abs("../../checkpoint/python")
	s.must(err)
	plain := exec.CommandContext(s.ctx, python, program, kind, fmt.Sprint(gpuSteps/10))
	plain.Dir = t.TempDir()
	plain.Env = append(os.Environ(), "PYTHONPATH="+library, "STEPS="+log, "OMP_NUM_THREADS=1", "PRODUCTS=1")
	if said, err := plain.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	never, _ := losses(t, log, gpuSteps)
	worst := 0.0
	for step, loss := range never {
		worst = max(worst, math.Abs(moved[step]-loss)/loss)
	}
	t.Logf("%s: largest relative difference of a step's loss from a training that was never moved: %.1e", kind, worst)
	if worst > 1e-5 {
		t.Error("not the same training")
	}
}
