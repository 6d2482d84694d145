package control

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// TestConfinedJobsAreShownAsTheirOwners: clients are told another uid in Slurm only where there is one.
func TestConfinedJobsAreShownAsTheirOwners(t *testing.T) {
	for slurmUID, want := range map[uint32]uint32{1001: 0, 4000: 4000} {
		rec := journal.JobRecord{Identity: journal.Identity{ID: 7, Owner: elastic.Owner{User: "ann", UID: 1001}, SlurmUID: slurmUID}}
		got := viewJob(&publish.Report{}, publish.JobReport{Record: rec, Job: &elastic.Job{Phase: elastic.Running}})
		if got.User != "ann" || got.UID != 1001 || got.SlurmUID != want {
			t.Errorf("uid %d in Slurm: %s, %d, %d", slurmUID, got.User, got.UID, got.SlurmUID)
		}
		if past := viewPastJob(rec, nil, time.Time{}); past.User != "ann" || past.UID != 1001 {
			t.Errorf("uid %d in Slurm, past: %s, %d", slurmUID, past.User, past.UID)
		}
	}
}

// A job whose last run is being cleaned up has no other state in Slurm's list.
func TestStateWhileCompleting(t *testing.T) {
	for _, c := range []struct {
		phase                  elastic.Phase
		listed, recorded, want string
	}{
		{elastic.Completing, "UNKNOWN", "RUNNING", "COMPLETING"},
		{elastic.Completing, "COMPLETED", "RUNNING", "COMPLETED"},
		{elastic.Running, "RUNNING", "PENDING", "RUNNING"},
		{elastic.Ended, "", "FAILED", "FAILED"},
		{elastic.Running, "UNKNOWN", "RUNNING", "UNKNOWN"},
	} {
		jr := publish.JobReport{Record: journal.JobRecord{Life: journal.Life{State: c.recorded}}, Job: &elastic.Job{Phase: c.phase, State: c.listed}}
		if got := stateOf(jr); got != c.want {
			t.Errorf("%v, listed %q, recorded %q: %q, want %q", c.phase, c.listed, c.recorded, got, c.want)
		}
	}
}
