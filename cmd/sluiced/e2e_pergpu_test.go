package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// Trials of one lane share its GPU, as steps of one job, once that was measured to be faster. The lane is requeued and
// sluiced is killed while two of them run: both go on, and no epoch is trained twice.
func TestPerGPU(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 1))
	log := filepath.Join(s.Home(""), "epochs")
	sweep := s.sweep("trial.py", `#SLUICE --sweep=random --metric=score:max --trials=4 --parallel=1 --per-gpu=2 --epochs=100 --seed=3
#SLUICE --param x=float:0:1
srun sh -c 'echo "GPUs: $CUDA_VISIBLE_DEVICES"'
srun "$SLUICE" ranks -- /usr/bin/python3 PROGRAM --x {x} --epochs=100 --log `+log)
	two := func() (bool, error) {
		return strings.Contains(s.as("", "sluice", "sweep", "explain", sweep), "per GPU: 2 trials at once: 2 at once were "), nil
	}
	s.must(site.Until(s.ctx, 3*time.Minute, "the lane to measure", two))
	s.must(site.Until(s.ctx, time.Minute, "two trials to run", func() (bool, error) {
		run := 0
		for _, trial := range s.trials(sweep) {
			if trial.State == "running" {
				run++
			}
		}
		return run == 2, nil
	}))
	s.as("", "sluice", "requeue", sweep)
	s.Kill()
	s.must(s.Start(s.ctx))
	s.allTried(sweep, 4*time.Minute)
	gpus := map[string]bool{}
	for _, trial := range s.trials(sweep) {
		if trial.State != "done" || trial.Epoch != 100 {
			t.Errorf("%+v", trial)
		}
		text, err := os.ReadFile(trial.Output)
		s.must(err)
		for _, m := range regexp.MustCompile(`GPUs: .*`).FindAllString(string(text), -1) {
			gpus[m] = true
		}
	}
	if len(gpus) != 1 {
		t.Errorf("the trials had %v", gpus)
	}
	eachOnce(t, s.lines(log), 4, 100)
}
