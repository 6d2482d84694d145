package command

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestJobByField: what of a job's record counts in which state, and what is no user's and no
// job's number.
func TestJobByField(t *testing.T) {
	// Slurm tells an end of jobs that have not ended, too: where their limit is.
	for state, ended := range map[string]bool{"RUNNING": false, "PENDING": false, "COMPLETED": true, "FAILED": true, "TIMEOUT": true} {
		record := make([]string, jobFieldCount)
		record[fJobID], record[fUID], record[fState], record[fEnd] = "7", "0", state, "1000"
		if d, ok := parseJob(record); !ok || d.End.IsZero() == ended || ended && d.End.Unix() != 1000 {
			t.Errorf("%s: ended at %v", state, d.End)
		}
	}
	// What a pending job would be billed for is no bill.
	for nodes, want := range map[string]int{"": 0, "a": 5} {
		v, j := reader{record: make([]string, jobFieldCount)}, slurm.Job{Nodes: strings.Fields(nodes)}
		v.record[fTresAlloc] = "cpu=2,billing=5"
		if v.size(&j); v.err != nil || j.Billing != want {
			t.Errorf("on %q: billed for %d, %v", nodes, j.Billing, v.err)
		}
	}
	// A number that wraps around would be another user's.
	for text, want := range map[string]uint32{"4294967295": 4294967295, "4294967296": 0, "4294967297": 0, "-1": 0} {
		record := make([]string, jobFieldCount)
		record[fJobID], record[fUID], record[fState] = "7", text, "RUNNING"
		if d, ok := parseJob(record); !ok || (d.State == slurm.Unknown) != (want == 0) || want != 0 && d.UID != want {
			t.Errorf("%s: user %d of a job that is %s", text, d.UID, d.State)
		}
	}
	for text, want := range map[string]slurm.JobID{"1": 1, "0": 0, "-7": 0, "99999999999999999999": 0, "": 0} {
		record := make([]string, jobFieldCount)
		record[fJobID] = text
		if d, ok := parseJob(record); ok != (want > 0) || d.ID != want {
			t.Errorf("%q is the id of job %d", text, d.ID)
		}
	}
}

// TestSplitOfAnotherJob: the split of another job, of one with another name, or a part of it is
// an error that says which.
func TestSplitOfAnotherJob(t *testing.T) {
	one := groups(group(1, "gpu:1"))
	for _, tc := range []struct {
		out  string
		id   slurm.JobID
		name string
		want string
	}{
		{one, 7, "", "scontrol shows another job name than squeue"},
		{one, 7, "i", "scontrol shows another job name than squeue"},
		{strings.Replace(one, "JobName=j", "JobName=jj", 1), 7, "j", "scontrol shows another job name than squeue"},
		{strings.Replace(one, "JobName=j", "JobName= UserId=u(1)", 1), 7, "j", "scontrol shows another job name than squeue"},
		{one, 8, "j", "scontrol's answer has no job 8"},
		{"JobId=7 JobName=j UserId=u(1) MinCPUsNode=1\n", 7, "j", "no Nodes= in scontrol's answer"},
		{strings.TrimSuffix(one, " MinCPUsNode=1\n"), 7, "j", errTruncated.Error()},
	} {
		if split, err := parseSplit(tc.out, tc.id, tc.name); err == nil || err.Error() != tc.want {
			t.Errorf("job %d, %q of %q: %v, %v; want %s", tc.id, tc.name, tc.out, split, err, tc.want)
		}
	}
}
