package resize_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// Slurm's reasons and their consequences for a job that was released 12 s ago: whether it is
// tried elsewhere or at another size, or nowhere.
func TestObstacles(t *testing.T) {
	for reason, want := range map[string]string{
		"Licenses": "nowhere", "BurstBufferResources": "nowhere", "Reservation": "nowhere", "JobArrayTaskLimit": "nowhere",
		"InvalidQOS": "nowhere", "InvalidAccount": "nowhere", "QOSNotAllowed": "nowhere", "PartitionDown": "nowhere", "PartitionInactive": "nowhere", "PartitionTimeLimit": "nowhere",
		"AssocGrpJobsLimit": "nowhere", "AssocMaxJobsLimit": "nowhere", "QOSMaxJobsPerUserLimit": "nowhere", "MaxJobsPerAccount": "nowhere", "AssociationJobLimit": "nowhere",
		"AssocMaxWallDurationPerJobLimit": "nowhere", "QOSGrpWallLimit": "nowhere", "Dependency": "nowhere", "DependencyNeverSatisfied": "nowhere",
		"AssocGrpGRES": "smaller", "AssocGrpCpuLimit": "smaller", "AssocMaxNodePerJobLimit": "smaller", "QOSMaxGRESPerUser": "smaller", "QOSGrpGRES": "smaller", "QOSMaxCpuPerJobLimit": "smaller",
		"QOSMinGRES": "smaller", "MaxGRESPerAccount": "smaller", "PartitionNodeLimit": "smaller", "AssocGrpGRESMinutes": "smaller",
		"ReqNodeNotAvail,_UnavailableNodes:gpu2": "elsewhere", "ReqNodeNotAvail": "elsewhere", "NodeDown": "elsewhere",
		"": "", "None": "", "Resources": "", "Priority": "", "BeginTime": "", "Prolog": "", "Cleaning": "", "Mystery": "",
	} {
		in, job, snap := scene(elastic.Start, elastic.Released)
		in.ReleasedAt = noon.Add(-12 * time.Second)
		job.Phase, job.Reason = elastic.Queued, reason
		next := resize.Advance(in, job, snap)
		got := ""
		switch {
		case next.Obstacle != "":
			got = "nowhere"
		case next.Refused && next.Blameless:
			got = "smaller"
		case next.Refused:
			got = "elsewhere"
		}
		if got != want || (want != "") != (next.Close == elastic.Fellback) {
			t.Errorf("%s: %q, want %q: %+v", reason, got, want, next)
		}
	}
}
