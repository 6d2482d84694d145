package resize_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// TestMissedPassIsAskedAgain: for a released job that waits although nothing blocks it another
// scheduling pass is requested; other jobs wait as before.
func TestMissedPassIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		asks   bool
		change func(*elastic.Intent, *elastic.Job, *elastic.Snapshot)
	}{
		{"10 s after its release", true, func(*elastic.Intent, *elastic.Job, *elastic.Snapshot) {}},
		{"its begin time was not seen in time", true, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) { j.Reason = "BeginTime" }},
		{"in the moment of its release", false, func(in *elastic.Intent, _ *elastic.Job, _ *elastic.Snapshot) { in.ReleasedAt = noon }},
		{"its begin time has not come", false, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) { j.Eligible = noon.Add(time.Second) }},
		{"its begin time has just come", true, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) { j.Eligible = noon }},
		{"asked for 5 s after its release, 5 s ago", true, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) {
			j.PassAsked = noon.Add(-5 * time.Second)
		}},
		{"asked for 6 s after its release, 4 s ago", false, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) {
			j.PassAsked = noon.Add(-4 * time.Second)
		}},
		{"asked for before its last release", true, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) {
			j.PassAsked = noon.Add(-11 * time.Second)
		}},
		{"its GPUs are another's", false, func(_ *elastic.Intent, _ *elastic.Job, s *elastic.Snapshot) { s.Nodes[1].Used = 2 }},
		{"its node is drained", false, func(_ *elastic.Intent, _ *elastic.Job, s *elastic.Snapshot) { s.Nodes[1].Usable = false }},
		{"Slurm waits for something else", false, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) { j.Reason = "Dependency" }},
		{"a limit of the site", false, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) { j.Reason = "QOSGrpGRES" }},
		{"held by its user", false, func(_ *elastic.Intent, j *elastic.Job, _ *elastic.Snapshot) {
			j.Phase, j.UserHold = elastic.Waiting, true
		}},
		{"late", false, func(in *elastic.Intent, _ *elastic.Job, _ *elastic.Snapshot) { in.ReleasedAt = noon.Add(-time.Hour) }},
	} {
		in, job, snap := scene(elastic.Resize, elastic.Released)
		job.Phase = elastic.Queued
		c.change(&in, &job, &snap)
		next := resize.Advance(in, job, snap)
		asks := len(next.Do) == 1 && next.Do[0] == elastic.RequestPass{Job: job.ID}
		if asks != c.asks {
			t.Errorf("%s: %v, %s", c.name, next.Do, sentence(next.Why))
		}
		if asks && (next.Again || next.Close != "" || next.Intent.Step != elastic.Released) {
			t.Errorf("%s: %+v", c.name, next)
		}
	}
}

// TestPassesAreFew: I7. The number of requests is bounded, however long a job waits and however
// often it is observed.
func TestPassesAreFew(t *testing.T) {
	in, job, snap := scene(elastic.Resize, elastic.Released)
	job.Phase, in.ReleasedAt = elastic.Queued, noon
	asked := 0
	for at := noon; !at.After(noon.Add(snap.Limits.Confirm)); at = at.Add(100 * time.Millisecond) {
		snap.Now = at
		next := resize.Advance(in, job, snap)
		if len(next.Do) > 0 {
			asked, job.PassAsked = asked+1, at
		}
		in = next.Intent
	}
	if asked != 5 {
		t.Errorf("asked for %d passes in %s", asked, snap.Limits.Confirm)
	}
}
