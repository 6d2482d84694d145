package command

import (
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// Slices of GPUs are told from whole ones by their type, on nodes that have both.
func TestSlicesAreToldFromGPUs(t *testing.T) {
	for _, c := range []struct {
		list          string
		count, slices int
		kind          string
	}{
		{"gpu:1g.5gb:7", 7, 7, "1g.5gb"},
		{"gpu:1g.5gb:1", 1, 1, "1g.5gb"},
		{"gpu:a100_3g.20gb:2(IDX:0-1)", 2, 2, "a100_3g.20gb"},
		{"gpu:a100:2(S:0),gpu:1g.5gb:7(S:1)", 9, 7, "a100"},
		{"gpu:a100:2,gpu:1g.5gb:7,gpu:3g.20gb:1", 10, 8, "a100"},
		{"gpu:1g.5gb:7,gpu:3g.20gb:1", 8, 8, ""},
		{"gres/gpu=3,gres/gpu:1g.5gb=3", 3, 3, "1g.5gb"},
		{"gpu:h100_80gb:4", 4, 0, "h100_80gb"},
	} {
		g, err := parseGPUs(c.list)
		if err != nil || g.count != c.count || g.slices != c.slices || g.kind != c.kind {
			t.Errorf("%q: %+v, %v", c.list, g, err)
		}
	}
}

func TestNodesCountWholeGPUs(t *testing.T) {
	record := make([]string, nodeFieldCount)
	record[nName], record[nStates], record[nCPUs] = "gpu1", "mixed", "3/5/0/8"
	record[nMemory], record[nMemUsed] = "1000", "10"
	record[nGres], record[nGresUsed] = "gpu:a100:2(S:0),gpu:1g.5gb:7(S:1)", "gpu:a100:1(IDX:0),gpu:1g.5gb:3(IDX:2-4)"
	n := parseNode("gpu1", record)
	if n.GPUs != 2 || n.GPUsUsed != 1 || n.Slices != 7 || n.GPUType != "a100" || n.Is("UNKNOWN") {
		t.Errorf("%+v", n)
	}
	record[nGres], record[nGresUsed] = "gpu:1g.5gb:7", "gpu:1g.5gb:7(IDX:0-6)"
	if n := parseNode("gpu1", record); n.GPUs != 0 || n.GPUsUsed != 0 || n.Slices != 7 {
		t.Errorf("%+v", n)
	}
}

// What a job has, or asks for, of slices is told from its GPUs: nobody needs to make
// room for a job that waits for slices.
func TestJobsCountTheirSlices(t *testing.T) {
	for _, c := range []struct {
		perJob, perNode, perTask, alloc string
		runs                            bool
		gpus, whole                     int
	}{
		{perJob: "gres:gpu:1g.5gb:3", gpus: 3, whole: 0},
		{perNode: "gres:gpu:1g.5gb:3", gpus: 6, whole: 0},
		{perTask: "gres:gpu:1g.5gb:1", gpus: 4, whole: 0},
		{perNode: "gres:gpu:a100:1,gres:gpu:1g.5gb:2", gpus: 6, whole: 2},
		{perNode: "gres:gpu:1g.5gb:3", alloc: "cpu=2,gres/gpu=6", runs: true, gpus: 6, whole: 0},
		{perNode: "gres:gpu:3", alloc: "gres/gpu=6,gres/gpu:1g.5gb=6", runs: true, gpus: 6, whole: 0},
		{perNode: "gres:gpu:4", alloc: "gres/gpu=8,gres/gpu:a100=8", runs: true, gpus: 8, whole: 8},
	} {
		record := make([]string, jobFieldCount)
		for i := range record {
			record[i] = "0"
		}
		record[fNumNodes], record[fNumTasks] = "2", "4"
		record[fTresPerJob], record[fTresPerNode], record[fTresPerTask], record[fTresAlloc] = c.perJob, c.perNode, c.perTask, c.alloc
		j := slurm.Job{Nodes: map[bool][]string{true: {"gpu1", "gpu2"}}[c.runs]}
		v := reader{record: record}
		if v.size(&j); v.err != nil || j.GPUs != c.gpus || j.Whole() != c.whole {
			t.Errorf("%+v: %d GPUs, %d whole, %v", c, j.GPUs, j.Whole(), v.err)
		}
	}
}
