package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// sweepTrial is a trial as 'sluice sweep trials --json' shows it.
type sweepTrial struct {
	Trial, Starts int
	State         string
	Epoch         float64
	Best          *float64
	Checkpoint    string
	Output        string
}

func (s *scene) trials(sweep string) (out []sweepTrial) {
	s.must(json.Unmarshal([]byte(s.as("", "sluice", "sweep", "trials", "--json", sweep)), &out))
	return out
}

// sweep submits a sweep of the caller and returns its number. lines are the job script's; PROGRAM in them stands
// for the path of this program of testdata.
func (s *scene) sweep(program, lines string) (number string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", program))
	s.must(err)
	s.must(site.Put(s.Path(program), text, 0o644))
	home := s.Home("")
	script := filepath.Join(home, "sweep.sh")
	s.must(site.Put(script, []byte("#!/bin/bash\n"+strings.ReplaceAll(lines, "PROGRAM", s.Path(program))+"\n"), 0o755))
	return strings.TrimSpace(s.as("", "sluice", "submit", "--parsable", "-D", home, script))
}

// allTried waits until a sweep is over because all its trials have ended.
func (s *scene) allTried(sweep string, within time.Duration) {
	s.t.Helper()
	s.must(site.Until(s.ctx, within, "sweep "+sweep+" to end", func() (bool, error) {
		return strings.Contains(s.as("", "sluice", "sweep", "show", "--json", sweep), `"state": "trials"`), nil
	}))
}

// lines counts the lines of a file.
func (s *scene) lines(name string) map[string]int {
	s.t.Helper()
	text, err := os.ReadFile(name)
	s.must(err)
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

// eachOnce checks that each epoch of each trial was trained once; trained counts them as "TRIAL EPOCH".
func eachOnce(t *testing.T, trained map[string]int, trials, epochs int) {
	t.Helper()
	for trial := 1; trial <= trials; trial++ {
		for epoch := 1; epoch <= epochs; epoch++ {
			if n := trained[fmt.Sprint(trial, " ", epoch)]; n != 1 {
				t.Errorf("epoch %d of trial %d was trained %d times", epoch, trial, n)
			}
		}
	}
}

// Once a sweep has reached its goal the lanes that still wait in Slurm are cancelled, also by a sluiced that was killed in
// between; the lane that ran ends by itself. An extension submits others.
func TestSweepEndsWithItsLanes(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 1))
	sweep := s.sweep("trial.py", `#SLUICE --sweep=random --metric=score:max --trials=50 --parallel=4 --epochs=4 --goal=-1000000 --seed=3
#SLUICE --param x=float:0:1
/usr/bin/python3 PROGRAM --x {x} --log `+filepath.Join(s.Home(""), "epochs"))
	var lane int64
	_, err := fmt.Sscan(sweep, &lane)
	s.must(err)
	s.must(site.Until(s.ctx, time.Minute, "the sweep to be over", func() (bool, error) {
		return strings.Contains(s.as("", "sluice", "sweep", "show", "--json", sweep), `"state": "goal"`), nil
	}))
	s.Kill()
	s.must(s.Start(s.ctx))
	for n := range int64(4) {
		j := &job{s: s, id: lane + n}
		j.until("to end", func(v wire.Job) bool {
			return v.State == "COMPLETED" && n == 0 || strings.HasPrefix(v.State, "CANCELLED") && n > 0
		})
	}
	if text := s.as("", "sluice", "sweep", "show", sweep); !strings.Contains(text, "the sweep is over, lanes that wait are cancelled") {
		t.Error(text)
	}
	if text := s.as("", "sluice", "sweep", "extend", sweep, "--goal=none", "--trials=4"); !strings.Contains(text, "lanes submitted") {
		t.Error(text)
	}
	s.allTried(sweep, time.Minute)
}

// A sweep goes through the requeue of a lane in the middle of a trial and the kill of sluiced, and ends:
// the trial goes on from its checkpoint, no epoch is trained twice, and none is left out.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	log := filepath.Join(s.Home(""), "epochs")
	sweep := s.sweep("trial.py", `#SLUICE --sweep=random --metric=score:max --trials=5 --parallel=2 --epochs=6 --seed=3
#SLUICE --param x=float:0:1
/usr/bin/python3 PROGRAM --x {x} --log `+log)
	var lane int64
	_, err := fmt.Sscan(sweep, &lane)
	s.must(err)
	s.must(site.Until(s.ctx, time.Minute, "a trial to report twice", func() (bool, error) {
		for _, trial := range s.trials(sweep) {
			if trial.Epoch >= 2 {
				return true, nil
			}
		}
		return false, nil
	}))
	first := &job{s: s, id: lane}
	first.until("to answer requests", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil })
	what, err := s.Control().WhatIf(s.ctx, wire.WhatIf{Submit: &wire.Submission{Name: "next", MinGPUs: 1, MaxGPUs: 1, Lanes: 1, Trials: 4, Seconds: 5}})
	s.must(err)
	if len(what.Added) != 1 || len(what.Jobs) != 2 {
		t.Errorf("a sweep that is tried beside this one: %+v", what)
	}
	all, err := s.Control().Sweeps(s.ctx)
	s.must(err)
	if len(all.Sweeps) != 1 || len(all.Sweeps[0].Lanes) != 2 {
		t.Errorf("%+v", all)
	}
	s.as("", "sluice", "requeue", sweep)
	s.Kill()
	s.must(s.Start(s.ctx))
	s.allTried(sweep, 2*time.Minute)
	best := -1.
	for _, trial := range s.trials(sweep) {
		if trial.State != "done" || trial.Epoch != 6 || trial.Best == nil {
			t.Errorf("%+v", trial)
			continue
		}
		best = max(best, *trial.Best)
	}
	eachOnce(t, s.lines(log), 5, 6)
	if out := s.as("", "sluice", "sweep", "best", sweep); !strings.Contains(out, "score") || !strings.Contains(out, "x ") {
		t.Errorf("best:\n%s", out)
	}
	if out := s.as("", "sluice", "sweep", "export", sweep); strings.Count(strings.TrimSpace(out), "\n") != 30 {
		t.Errorf("export has %d lines:\n%s", strings.Count(out, "\n"), out)
	}
	if state := first.ends(); state != "COMPLETED" {
		t.Errorf("the first lane ended as %s", state)
	}
	// All its lanes have gone: an extension submits others.
	if out := s.as("", "sluice", "sweep", "extend", sweep, "--trials=+2"); !strings.Contains(out, "2 lanes submitted") {
		t.Fatalf("extend:\n%s", out)
	}
	s.must(site.Until(s.ctx, 2*time.Minute, "the longer sweep to end", func() (bool, error) {
		out := s.as("", "sluice", "sweep", "show", "--json", sweep)
		return strings.Contains(out, `"state": "trials"`) && strings.Contains(out, `"done": 7`), nil
	}))
}

// A population on a real Slurm: members that fall behind are replaced by trials that go on from the
// checkpoint of a leading one, and 'sluice sweep explain' says who copied from whom.
func TestSweepPopulation(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	sweep := s.sweep("population.py", `#SLUICE --sweep=pbt --metric=score:max --trials=7 --parallel=4 --epochs=39 --seed=3
#SLUICE --param x=float:0.1:1
/usr/bin/python3 PROGRAM `+filepath.Join(s.Home(""), "began"))
	s.must(site.Until(s.ctx, 3*time.Minute, "the population to end", func() (bool, error) {
		out := s.as("", "sluice", "sweep", "show", "--json", sweep)
		return strings.Contains(out, `"state": "population"`) || strings.Contains(out, `"state": "trials"`), nil
	}))
	var trials []struct {
		Trial, From, Replaces int
		Copied                *struct {
			From  int
			Epoch float64
		}
	}
	s.must(json.Unmarshal([]byte(s.as("", "sluice", "sweep", "trials", "--json", sweep)), &trials))
	explained, copies := s.as("", "sluice", "sweep", "explain", sweep), 0
	for _, trial := range trials {
		if trial.Replaces == 0 {
			continue
		}
		if trial.Copied == nil || trial.Copied.From == 0 || trial.Copied.Epoch < 1 {
			t.Errorf("%+v", trial)
			continue
		}
		copies++
		if want := fmt.Sprintf("trial %d has the place of trial %d, and went on from trial %d's checkpoint of epoch %g", trial.Trial, trial.Replaces, trial.Copied.From, trial.Copied.Epoch); !strings.Contains(explained, want) {
			t.Errorf("explain does not say %q:\n%s", want, explained)
		}
	}
	if copies == 0 {
		t.Errorf("nobody was replaced:\n%s", explained)
	}
}
