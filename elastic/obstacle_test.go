package elastic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Slurm's reasons and what follows from them for a job that was released 12 s ago: whether
// it is tried elsewhere or at another size, or nowhere.
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
		next := elastic.Advance(in, job, snap)
		if next.Again { // that it is taken back stands in the journal first
			next = elastic.Advance(next.Intent, job, snap)
		}
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

// What people are told of a job that Slurm does not start: its reason, what that means, when
// it is tried again, and what to type.
func TestObstacleWords(t *testing.T) {
	j := elastic.Job{ID: 7, Phase: elastic.Held, Blocked: elastic.Blocked{Code: elastic.Obstructed, On: "Licenses", Since: noon, Until: noon.Add(30 * time.Second), Times: 1}}
	want := "waiting: Slurm did not start it at 12:00:00 (Licenses): licenses that it asks for are in use; next try at 12:00:30 at the latest, or now with sluice release 7; see scontrol show licenses"
	if got := sentence(j.WaitsOutside()); got != want {
		t.Errorf("%s", got)
	}
	j.Blocked = elastic.Blocked{Code: elastic.Obstructed, On: "InvalidQOS", Since: noon, Times: 3}
	if got := sentence(j.WaitsOutside()); !strings.Contains(got, "for the 3rd time (InvalidQOS)") || !strings.Contains(got, "scontrol update JobId=7 QOS=QOS") {
		t.Errorf("%s", got)
	}
}

// Each refusal in a row doubles the wait, up to 10 minutes where GPUs are idle.
func TestObstacleAgain(t *testing.T) {
	var r elastic.Refused
	r.Idle = true
	if !r.ObstacleAgain().IsZero() {
		t.Error("a job that was not refused waits")
	}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		r.Obstacle = r.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: "Licenses"}, noon)
		if got := r.ObstacleAgain().Sub(noon); got != want {
			t.Errorf("after %d: %s, want %s", r.Obstacle.Times, got, want)
		}
	}
}

// While a job is resized no other starts with its licenses, and while one starts none is
// resized.
func TestLicensesBetweenTwoSizes(t *testing.T) {
	s := elastic.Snapshot{Now: noon}
	for _, name := range []string{"gpu1", "gpu2", "gpu3"} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: name, Partitions: []string{"gpu"}, GPUs: 4, CPUs: 16, Usable: true})
	}
	s.Nodes[0].Used = 2
	s.Jobs = []elastic.Job{
		{ID: 1, Phase: elastic.Running, Partition: "gpu", Place: on("gpu1", 2), Spec: elastic.Spec{Min: 1}, Licenses: []string{"lic"}},
		{ID: 2, Phase: elastic.Held, Partition: "gpu", Spec: elastic.Spec{Min: 1}, Licenses: []string{"lic", "other"}},
		{ID: 3, Phase: elastic.Held, Partition: "gpu", Spec: elastic.Spec{Min: 1}},
	}
	a := elastic.Allocation{1: {GPUs: 4}, 2: {GPUs: 1}, 3: {GPUs: 1}}
	for _, order := range [][]elastic.JobID{{1, 2, 3}, {2, 1, 3}} {
		where := elastic.Arrange(s, a)
		where.Order = order
		plan := elastic.Reconcile(s, a, where)
		var opened []elastic.JobID
		for _, in := range plan.Open {
			opened = append(opened, in.Job)
		}
		if len(opened) != 2 || (opened[0] == order[0]) == (opened[0] == order[1]) || opened[1] != 3 {
			t.Errorf("in the order %v opened %v", order, opened)
		}
	}
}
