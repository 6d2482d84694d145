package eligible

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestDemands: jobs of sluice that wait in Slurm's own order are demands among the ordinary ones, by
// priority; what waits for something else than GPUs is none.
func TestDemands(t *testing.T) {
	waits := func(id slurm.JobID, priority int64, reason string) slurm.Job {
		return slurm.Job{ID: id, State: slurm.Pending, Priority: priority, Reason: reason, GPUs: 2}
	}
	s := elastic.Snapshot{Now: noon}
	ordinary := []slurm.Job{waits(1, 10, "Priority"), waits(2, 30, "Resources"), waits(3, 40, "Dependency")}
	Ordinary(&s, ordinary, []slurm.Job{waits(4, 20, "Priority"), waits(5, 50, "AssocGrpGRES")}, nil, &elastic.Snapshot{})
	var got []elastic.JobID
	for _, d := range s.Demands {
		got = append(got, d.ID)
	}
	if !slices.Equal(got, []elastic.JobID{2, 4, 1}) {
		t.Errorf("demands %v", got)
	}
}
