package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// A program that loops over sluice.trials() goes on through the kill of sluiced and the requeue of its
// lane, and no epoch is trained twice. With SLUICE_MEASURE=1 nothing is killed, and the times from one
// trial's end to the next one's first step are printed.
func TestWarmSweep(t *testing.T) {
	measured := os.Getenv("SLUICE_MEASURE") != ""
	if !measured {
		t.Parallel()
	}
	s := play(t, withNodes(1, 1))
	log := filepath.Join(s.Home(""), "steps")
	trials := map[bool]int{false: 5, true: 30}[measured]
	sweep := s.sweep("warm.py", fmt.Sprintf(`#SLUICE --sweep=random --metric=score:max --trials=%d --parallel=1 --epochs=4 --seed=3
#SLUICE --param x=float:0:1
srun "$SLUICE" ranks -- /usr/bin/python3 PROGRAM --log %s`, trials, log))
	if !measured {
		s.must(site.Until(s.ctx, 2*time.Minute, "the third trial to report", func() (bool, error) {
			all := s.trials(sweep)
			return len(all) >= 3 && all[2].Epoch >= 1, nil
		}))
		s.as("", "sluice", "requeue", sweep)
		s.Kill()
		s.must(s.Start(s.ctx))
	}
	s.allTried(sweep, 3*time.Minute)
	for _, trial := range s.trials(sweep) {
		if trial.State != "done" || trial.Epoch != 4 {
			t.Errorf("%+v", trial)
		}
	}
	seen, processes, ended, gaps := map[string]int{}, map[string]bool{}, 0.0, []float64(nil)
	text, err := os.ReadFile(log)
	s.must(err)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		at, err := strconv.ParseFloat(f[4], 64)
		s.must(err)
		switch {
		case f[0] == "ends":
			ended = at
		case f[0] == "begins" && f[2] == "1" && ended > 0:
			gaps = append(gaps, at-ended)
		case f[0] == "epoch":
			seen[f[1]+" "+f[2]]++
			processes[f[3]] = true
		}
	}
	eachOnce(t, seen, trials, 4)
	// srun passes on what the ranks print, so all of a process is in the output of its first trial.
	for _, trial := range s.trials(sweep) {
		output, err := os.ReadFile(trial.Output)
		s.must(err)
		own, elsewhere := strings.Contains(string(output), fmt.Sprintf("this is trial %d\n", trial.Trial)), strings.Contains(string(output), "what this trial prints is in ")
		if !own && !elsewhere {
			t.Errorf("the output of trial %d has neither what it printed nor where that is: %s", trial.Trial, output)
		}
	}
	if len(processes) > 4 {
		t.Errorf("%d processes trained %d trials", len(processes), trials)
	}
	if measured {
		gaps = slices.Sorted(slices.Values(gaps[1:])) // the first was to a new process
		t.Logf("%d gaps: median %.3f s, 9 of 10 %.3f s, worst %.3f s", len(gaps), gaps[len(gaps)/2], gaps[len(gaps)*9/10], gaps[len(gaps)-1])
	}
}
