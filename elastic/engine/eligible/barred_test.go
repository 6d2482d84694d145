package eligible

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// JobHeldAdmin may be an administrator's hold or Slurm's own.
func TestBarred(t *testing.T) {
	admin := slurm.Job{State: slurm.Pending, Held: true, Reason: HeldByAdmin}
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
		known := elastic.Block("")
		if tc.knew {
			known = elastic.NeverDepends
		}
		if got := Barred(tc.job, tc.was, known); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
