package greedy

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// mixed is a node with 6 old GPUs, of which some are used, and 2 new ones.
func mixed(name string, used int) nodes.Node {
	return nodes.Node{Name: name, Partitions: []string{"gpu"}, GPUs: 8, Used: used, Usable: true, CPUs: 64,
		Types: []nodes.OfType{{Type: "new", GPUs: 2}, {Type: "old", GPUs: 6, Used: used}}}
}

// An ordinary job that waits for GPUs of a type which there are not so many of says nothing of the next one, which
// takes any.
func TestDemandsOfTypes(t *testing.T) {
	of := func(kind string, gpus, on int) elastic.Demand {
		return elastic.Demand{Partition: "gpu", Type: kind, GPUs: gpus, Nodes: on}
	}
	for name, c := range map[string]struct {
		d, e elastic.Demand
		want bool
	}{
		"any after a type":            {of("", 4, 1), of("new", 4, 1), false},
		"another type":                {of("old", 4, 1), of("new", 4, 1), false},
		"the same type":               {of("new", 4, 1), of("new", 4, 1), true},
		"a type after any":            {of("new", 4, 1), of("", 4, 1), true},
		"fewer of the same type":      {of("new", 2, 1), of("new", 4, 1), false},
		"more, on more nodes, of any": {of("", 8, 2), of("", 4, 1), true},
	} {
		if got := asksAsMuch(c.d, c.e); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	r := newRound(elastic.Snapshot{Nodes: []nodes.Node{mixed("n1", 0)}, Demands: []elastic.Demand{of("new", 4, 1), of("", 4, 1)}})
	if r.reserveForOrdinary(); len(r.wants) != 1 || r.wants[0].Type != "" {
		t.Errorf("room is kept for %+v, want the job that takes any GPU", r.wants)
	}
}

// A job that wants more GPUs of its type than any node has cannot start on one, and keeps no other waiting.
func TestQueueCountsGPUsOfTheType(t *testing.T) {
	job := func(id elastic.JobID, kind string, gpus int) elastic.Job {
		return elastic.Job{ID: id, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: gpus, Max: gpus, Types: []string{kind}}}
	}
	a := FCFS(elastic.Snapshot{Nodes: []nodes.Node{mixed("n1", 0)}, Jobs: []elastic.Job{job(1, "new", 4), job(2, "old", 4)}})
	if why, is := a[1].Why.(reason.CannotStart); !is || why.Have != 2 || a[1].Reserves {
		t.Errorf("4 of 2 new GPUs: %s, reserves=%t", reason.String(a[1].Why), a[1].Reserves)
	}
	if a[2].GPUs != 4 {
		t.Errorf("the job behind it: %d GPUs: %s", a[2].GPUs, reason.String(a[2].Why))
	}
}
