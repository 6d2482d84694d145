package engine

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Whose hold it is that Slurm shows as an administrator's.
func TestBarred(t *testing.T) {
	admin := slurm.Job{State: slurm.Pending, Held: true, Reason: heldByAdmin}
	failed, freed := admin, admin
	failed.Dependency = "afterok:1(failed)"
	freed.Reason = "JobHeldUser"
	for name, tc := range map[string]struct {
		was, knew bool
		job       slurm.Job
		want      bool
	}{
		"an administrator's":                 {false, false, admin, false},
		"Slurm's":                            {false, false, failed, true},
		"Slurm's, the dependency is gone":    {true, false, admin, true},
		"gone before Slurm was seen to hold": {false, true, admin, true},
		"released and held by its user":      {true, false, freed, false},
	} {
		js := &jobState{slurm: tc.job, rec: JobRecord{Barred: tc.was}}
		if tc.knew {
			js.blocked.Code = elastic.NeverDepends
		}
		if js.barred(); js.rec.Barred != tc.want || js.dirty != (tc.was != tc.want) {
			t.Errorf("%s: %t", name, js.rec.Barred)
		}
	}
}
