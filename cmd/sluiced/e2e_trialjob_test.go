package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Trials that are jobs of their own: each job runs one trial and ends. When two of four are left they grow
// on the GPUs of the others, under their job ids, from their checkpoints: no epoch is trained twice.
func TestTrialJobs(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	log := filepath.Join(s.Home(""), "epochs")
	sweep := s.sweep("trial.py", `#SLUICE --sweep=grid --metric=score:max --trials=4 --parallel=4 --trial=job --max-gpus=2 --epochs=14
#SLUICE --param x=choice:0.1,0.2,0.8,0.9
/usr/bin/python3 PROGRAM --x {x} --epochs 14 --slow 15 --log `+log)
	var number int64
	_, err := fmt.Sscan(sweep, &number)
	s.must(err)
	jobs := map[int]*job{} // by trial
	s.must(site.Until(s.ctx, 3*time.Minute, "a job to grow", func() (bool, error) {
		report, err := s.Control().Report(s.ctx)
		if err != nil {
			return false, err
		}
		grown := false
		for _, v := range report.Jobs {
			if v.Trial != nil && jobs[v.Trial.Trial] == nil {
				jobs[v.Trial.Trial] = &job{s: s, id: v.JobID}
			}
			grown = grown || v.GPUs == 2 && v.Trial != nil && v.Trial.Sweep == number && v.Trial.Value != nil
		}
		return grown, nil
	}))
	s.allTried(sweep, 4*time.Minute)
	starts := 0
	for _, trial := range s.trials(sweep) {
		if trial.State != "done" || trial.Epoch != 14 {
			t.Errorf("%+v", trial)
		}
		starts += trial.Starts
		j := jobs[trial.Trial]
		if j == nil {
			t.Errorf("trial %d has no job", trial.Trial)
			continue
		}
		if state := j.ends(); state != "COMPLETED" {
			t.Errorf("the job of trial %d ended as %s", trial.Trial, state)
		}
		j.until("to have ended", func(v wire.Job) bool { return v.Ended })
		if v := j.view(); v.Trial == nil || v.Trial.Trial != trial.Trial || v.Trial.Epoch != 14 || v.Done != 14 {
			t.Errorf("the job of trial %d: %+v, %v epochs", trial.Trial, v.Trial, v.Done)
		}
	}
	if len(jobs) != 4 || starts < 5 {
		t.Errorf("%d jobs, %d starts of trials", len(jobs), starts)
	}
	eachOnce(t, s.lines(log), 4, 14)
	sizes := s.lines(log + ".gpus")
	if sizes["3 2"]+sizes["4 2"] == 0 {
		t.Errorf("no epoch was trained on 2 GPUs: %v", sizes)
	}
	if out := s.as("", "sluice", "history", fmt.Sprint(jobs[3].id)); !strings.Contains(out, "trial 3 of sweep "+sweep) {
		t.Errorf("history:\n%s", out)
	}
}
