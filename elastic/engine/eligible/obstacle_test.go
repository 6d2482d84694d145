package eligible

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// Which jobs may hold what a job lacks, by Slurm's reason.
func TestHolders(t *testing.T) {
	mine := slurm.Job{ID: 9, UID: 1, Account: "physics", QOS: "normal", Partition: "gpu", Licenses: "lic:2,db@server:1", State: slurm.Pending}
	jobs := []slurm.Job{
		mine,
		{ID: 1, State: slurm.Running, UID: 2, Account: "biology", QOS: "high", Partition: "short", Licenses: "lic"},
		{ID: 2, State: slurm.Pending, Licenses: "lic:1"},
		{ID: 3, State: slurm.Running, UID: 2, Account: "physics", QOS: "high", Partition: "short"},
		{ID: 4, State: slurm.Running, UID: 1, Account: "other", QOS: "normal", Partition: "gpu"},
		{ID: 5, State: slurm.Completed, UID: 1, Licenses: "lic:1"},
		{ID: 6, State: slurm.Suspended, UID: 3, Licenses: "other:1,db@server:3"},
	}
	for reason, want := range map[string][]slurm.JobID{
		"Licenses": {1, 6}, "AssocGrpJobsLimit": {3, 4}, "QOSMaxJobsPerUserLimit": {4}, "MaxJobsPerAccount": {3, 4}, "InvalidQOS": nil, "PartitionDown": nil,
	} {
		got := Holders(jobs, mine, reason)
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", reason, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", reason, got, want)
			}
		}
	}
}

// A refused job waits for its next try, or until one of the holders has ended. While a holder has an
// open move it waits in any case.
func TestObstructed(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		after  time.Duration
		holder slurm.Job
		moves  bool
		waits  bool
	}{
		"at once":                              {time.Second, slurm.Job{ID: 1, State: slurm.Running}, false, true},
		"later":                                {29 * time.Second, slurm.Job{ID: 1, State: slurm.Running}, false, true},
		"its time has come":                    {30 * time.Second, slurm.Job{ID: 1, State: slurm.Running}, false, false},
		"the other has ended":                  {time.Second, slurm.Job{ID: 1, State: slurm.Completed}, false, false},
		"the other is forgotten":               {time.Second, slurm.Job{ID: 7, State: slurm.Running}, false, false},
		"the other is cleaned away":            {time.Second, slurm.Job{ID: 1, State: slurm.Completed, Completing: true}, false, true},
		"the other was put back":               {time.Second, slurm.Job{ID: 1, State: slurm.Pending}, false, false},
		"the other is resized":                 {time.Second, slurm.Job{ID: 1, State: slurm.Pending}, true, true},
		"its time comes, the other is resized": {time.Minute, slurm.Job{ID: 1, State: slurm.Pending}, true, true},
	} {
		l := &Look{}
		if tc.moves {
			l.Open = []elastic.Intent{{Job: 1, Kind: elastic.Resize}}
		}
		own := Job{Holders: []slurm.JobID{1}}
		own.Refused.Idle = true
		own.Refused.Obstacle = own.Refused.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: "Licenses"}, noon)
		b := l.obstructed(own, byNumber([]slurm.Job{tc.holder}), noon.Add(tc.after))
		if waits := b.Code == elastic.Obstructed; waits != tc.waits || waits && (b.On != "Licenses" || b.Times != 1 || !b.Since.Equal(noon)) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
