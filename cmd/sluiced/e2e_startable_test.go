package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Jobs that Slurm itself would not start hold no GPUs: they wait for their begin time or their
// dependency, their reason says so, they delay no other job, and they start in time.
func TestWhatSlurmWouldNotStart(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	says := func(j *job, what string) {
		t.Helper()
		j.until("to be told "+what, func(v wire.Job) bool { return v.GPUs == 0 && v.Move == nil && strings.Contains(v.Reason, what) })
	}
	later := s.submit("later", "", 5, []string{"--begin=now+1hour", "--min-gpus=4"})
	says(later, "(--begin)")
	first := s.submit("first", "", 40, []string{"--max-gpus=1"}, "--seconds", "0.4")
	after := s.submit("after", "", 5, []string{fmt.Sprintf("--dependency=afterok:%d", first.id), "--min-gpus=4"})
	never := s.submit("never", "", 5, []string{fmt.Sprintf("--dependency=afternotok:%d", first.id)})
	says(after, fmt.Sprintf("depends on job %d (afterok)", first.id))
	says(never, fmt.Sprintf("depends on job %d (afternotok)", first.id))
	soon := s.submit("soon", "", 5, []string{"--begin=now+30", "--min-gpus=1", "--max-gpus=1"})
	says(soon, "(--begin)")
	first.completes()
	after.completes()
	says(never, "never starts: its dependency on")
	soon.completes()
	for _, j := range []*job{later, never} {
		if state, starts := j.field("JobState"), j.field("Restarts"); state != "PENDING" || starts != "0" {
			t.Errorf("job %s is %s, %s restarts", j.name, state, starts)
		}
	}
	s.as("", "scontrol", "update", fmt.Sprintf("JobId=%d", later.id), "StartTime=now")
	later.completes()
	// Slurm says so too, and does not hold it.
	s.must(site.Until(s.ctx, 2*time.Minute, "Slurm to notice that the job can never start", func() (bool, error) {
		return never.field("Reason") == "DependencyNeverSatisfied" && never.field("Priority") != "0", nil
	}))
	s.as("", "scontrol", "update", fmt.Sprintf("JobId=%d", never.id), "Dependency=")
	never.completes()
}

// TestSingleton: of two jobs of one name with --dependency=singleton the first starts at
// once, keeps the second waiting through a resize, and the second starts when it has ended.
func TestSingleton(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	options := []string{"--dependency=singleton", "--job-name=alone", "--max-gpus=2"}
	asked := time.Now()
	first := s.submit("first", "", 1000, options, "--seconds", "0.4")
	second := s.submit("second", "", 3, options)
	first.runsOn(2) // grown: it was requeued once
	if took := time.Since(asked); took > 40*time.Second {
		t.Errorf("the first waited for Slurm's next look at held jobs: %v", took)
	}
	second.until("to wait for the first", func(v wire.Job) bool { return v.GPUs == 0 && strings.Contains(v.Reason, "depends on singleton") })
	if state, starts := second.field("JobState"), first.field("Restarts"); state != "PENDING" || starts == "0" {
		t.Errorf("the second is %s, the first was restarted %s times", state, starts)
	}
	s.cancel(first)
	second.completes()
}

// TestBeginTimeThroughSlurm: a begin time that its user sets for a waiting job by scontrol is kept, although
// GPUs are free before it.
func TestBeginTimeThroughSlurm(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	busy := s.submit("busy", "", 1000, []string{"--min-gpus=2", "--max-gpus=2"}, "--seconds", "0.4")
	busy.runsOn(2)
	waits := s.submit("waits", "", 3, []string{"--min-gpus=2"})
	waits.until("to wait", func(v wire.Job) bool { return v.State == "PENDING" })
	time.Sleep(20 * time.Second) // within 15 s of a change of its own sluice does not tell
	s.as("", "scontrol", "update", fmt.Sprintf("JobId=%d", waits.id), "StartTime=now+50")
	begin := waits.field("StartTime")
	waits.until("to be told that it begins later", func(v wire.Job) bool { return strings.Contains(v.Reason, "(--begin)") })
	s.cancel(busy)
	waits.completes()
	if started := waits.field("StartTime"); started < begin { // as 2026-01-02T15:04:05
		t.Errorf("it started at %s, and was to begin at %s", started, begin)
	}
}
