package main

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	planner "github.com/sluice-hpc/sluice/nodes"
)

// TestDrainForeseesTypes: the forecast of a drain sends a job only to GPUs of a type that it
// accepts.
func TestDrainForeseesTypes(t *testing.T) {
	all := []wire.Node{
		{Name: "n1", Partitions: []string{"gpu"}, Type: "a100", GPUs: 2, Used: 2, Elastic: 2, Usable: true},
		{Name: "n2", Partitions: []string{"gpu"}, Type: "v100", GPUs: 4, Usable: true},
		{Name: "n3", Partitions: []string{"gpu"}, Type: "a100+v100", GPUs: 4, Usable: true,
			Types: []wire.OfType{{Type: "a100", GPUs: 2}, {Type: "v100", GPUs: 2}}},
		{Name: "n4", Partitions: []string{"gpu"}, Type: "h100", GPUs: 1, Usable: true},
	}
	for _, c := range []struct {
		types []string
		want  string
	}{
		{nil, "to n2:2"}, // any, all of one type
		{[]string{"a100"}, "to n3:2"},
		{[]string{"v100"}, "to n3:2"}, // the tightest
		{[]string{"a100", "h100"}, "to n4:1, with 1 GPU instead of 2"}, // a node of several types has no single one
		{[]string{"t4"}, "runs on until it ends or there is room elsewhere"},
	} {
		j := wire.Job{JobID: 7, Name: "train", User: "ann", Partition: "gpu", Speaks: true, Min: 1, Max: 2, Place: planner.Placement{{Node: "n1", GPUs: 2}}, Types: c.types}
		gone := j
		gone.JobID, gone.Ended = 8, true
		got := drainPlan(wire.Report{Nodes: all, Jobs: []wire.Job{gone, j}}, []string{"n1"}, "fan")
		if strings.Contains(got, "job 8") {
			t.Errorf("a job that has ended is foreseen to move: %s", got)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v: %s, want %s", c.types, got, c.want)
		}
	}
}
