package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Jobs end while sluiced is down, and Slurm purges them before sluiced starts again. With slurmdbd
// 'sluice show' still says how and when each ended.
func TestEndedDuringAnOutage(t *testing.T) {
	needsAccounting(t, "jobs that Slurm has forgotten were")
	t.Parallel()
	s := play(t, withNodes(3, 4), func(c *site.Config) { c.Lab.Accounting, c.Lab.MinJobAge = true, 5*time.Second })
	submit := func(gpus int, wrap string) *job {
		t.Helper()
		id, err := s.Submit(s.ctx, "", fmt.Sprintf("--gpus=%d", gpus), "--output=/dev/null", "--time=60", "--wrap="+wrap)
		s.must(err)
		return &job{s: s, id: id}
	}
	// A script that waits for the file ends when it exists.
	release := s.Path("go")
	gate := fmt.Sprintf("while ! [ -e %s ]; do sleep 0.2; done; ", release)
	completes, fails, cancelled := submit(1, gate+"sleep 2"), submit(1, gate+"sleep 2; exit 3"), submit(4, "sleep 600")
	killed := submit(1, gate+"sleep 2; kill -9 $$")
	waits := submit(12, "true")
	for _, j := range []*job{completes, fails, cancelled, killed} {
		j.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil })
	}
	waits.until("to wait", func(v wire.Job) bool { return v.State == "PENDING" })

	s.Kill()
	s.must(os.WriteFile(release, nil, 0o644))
	s.as("", "scancel", fmt.Sprint(cancelled.id), fmt.Sprint(waits.id))
	s.must(site.Until(s.ctx, 3*time.Minute, "slurmctld to forget the jobs", func() (bool, error) {
		out, err := s.Run(s.ctx, "", "squeue", "--all", "--noheader", "--states=all")
		return err == nil && strings.TrimSpace(out) == "", nil
	}))
	back := time.Now()
	s.must(s.Start(s.ctx))
	for _, c := range []struct {
		job        *job
		state, how string
	}{
		{completes, "COMPLETED", "completed: exit code 0"},
		{fails, "FAILED", "failed: exit code 3"},
		{killed, "FAILED", "failed: killed by signal 9"},
		{cancelled, "CANCELLED", "cancelled"},
		{waits, "CANCELLED", "cancelled before it started"},
	} {
		v := c.job.until("to have ended as "+c.state, func(v wire.Job) bool { return v.Ended && v.State == c.state })
		if !strings.HasPrefix(v.Reason, c.how) {
			t.Errorf("job %d: %q, want %q", c.job.id, v.Reason, c.how)
		}
		out := s.as("", "env", "SLURM_TIME_FORMAT=%s", "sacct", "-nPX", "-j", fmt.Sprint(c.job.id), "--format=End")
		end, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
		if err != nil || v.EndedAt.Unix() != end || !v.EndedAt.Before(back) {
			t.Errorf("job %d ended at %v, and sacct says %q (%v)", c.job.id, v.EndedAt, out, err)
		}
		shown := s.as("", "sluice", "show", fmt.Sprint(c.job.id))
		if !strings.Contains(shown, c.how) || strings.Contains(shown, "no longer knows") {
			t.Errorf("job %d, want %q:\n%s", c.job.id, c.how, shown)
		}
		t.Log(shown)
	}
	if history := s.as("", "sluice", "history", fmt.Sprint(fails.id)); !strings.Contains(history, "failed: exit code 3") {
		t.Error(history)
	}
}
