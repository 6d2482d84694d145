package plan_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// twoTypes is a node of two red and four blue GPUs, of which job 1 has a red one.
func twoTypes() elastic.Snapshot {
	on := func(gpus int) nodes.Placement { return nodes.Placement{{Node: "n1", GPUs: gpus}} }
	return elastic.Snapshot{Now: noon,
		Nodes: []nodes.Node{{Name: "n1", Partitions: []string{"gpu"}, GPUs: 6, Used: 1, Usable: true, Type: "blue+red",
			Types: []nodes.OfType{{Type: "blue", GPUs: 4}, {Type: "red", GPUs: 2, Used: 1}}}},
		Jobs: []elastic.Job{
			{ID: 1, Partition: "gpu", Phase: elastic.Running, Speaks: true, Place: on(1), Spec: elastic.Spec{Min: 1, Types: []string{"red"}}},
			{ID: 2, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1, Types: []string{"blue"}}},
			{ID: 3, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1}},
		},
		Intents: []elastic.Intent{{Job: 2, Kind: elastic.Resize, Target: on(2)}},
	}
}

// A job grows only onto GPUs of its type, however many others are idle, and two moves together
// get no more of a type than there is.
func TestArrangedWithinTypes(t *testing.T) {
	s := twoTypes()
	s.Intents = nil
	s.Jobs[2].Spec.Types = []string{"blue"}
	got := plan.Arrange(s, elastic.Allocation{1: {GPUs: 3}, 2: {GPUs: 3}, 3: {GPUs: 2}})
	if one, two, three := got.Target[1].GPUs(), got.Target[2].GPUs(), got.Target[3].GPUs(); one != 2 || two+three > 4 || two+three < 3 {
		t.Errorf("arranged: %v, %v", got.Target, got.Unplaced)
	}
	place := func(gpus int) nodes.Placement { return nodes.Placement{{Node: "n1", GPUs: gpus}} }
	got = plan.Arrange(s, elastic.Allocation{1: {GPUs: 3, Place: place(3)}, 2: {GPUs: 3, Place: place(3)}, 3: {GPUs: 2, Place: place(2)}})
	if got.Target[1].GPUs() > 2 || got.Target[2].GPUs()+got.Target[3].GPUs() > 4 {
		t.Errorf("as named: %v, %v", got.Target, got.Unplaced)
	}
	possible := plan.Possible(s, map[elastic.JobID]nodes.Placement{1: place(3), 2: place(2), 3: place(2)})
	if len(possible.Order) != 2 {
		t.Errorf("possible: %+v", possible)
	}
}
