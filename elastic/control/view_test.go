package control

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

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
