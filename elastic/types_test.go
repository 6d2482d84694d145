package elastic_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// twoTypes returns a node of two red and four blue GPUs: job 1 has a red one, and a move of job 2
// is bound to two blue ones.
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

func TestWhatIsAvailableOfAType(t *testing.T) {
	s := twoTypes()
	for _, tc := range []struct {
		job  int
		gpus int
		want bool
	}{{1, 2, true}, {1, 3, false}, {2, 4, true}, {2, 5, false}, {3, 3, true}, {3, 4, false}} {
		if got := s.Available(nodes.Placement{{Node: "n1", GPUs: tc.gpus}}, s.Jobs[tc.job-1]); got != tc.want {
			t.Errorf("%d GPUs for job %d: %t", tc.gpus, tc.job, got)
		}
	}
	blue := s.Jobs[2]
	blue.ID, blue.Spec.Types = 4, []string{"blue"}
	if s.Available(nodes.Placement{{Node: "n1", GPUs: 3}}, blue) || !s.Available(nodes.Placement{{Node: "n1", GPUs: 2}}, blue) {
		t.Error("two of the four blue GPUs are promised")
	}
}

func TestLimitsOfAType(t *testing.T) {
	s := twoTypes()
	s.Nodes[0].Used, s.Nodes[0].Types[0].Used = 4, 3
	for k, want := range map[string][3]int{"red": {2, 0, 2}, "blue": {0, 2, 2}, "green": {0, 0, 0}} {
		c := elastic.Cap{Of: elastic.GPUs, Type: k}
		for i := range s.Jobs {
			if got := c.Use(&s.Jobs[i], nodes.Placement{{Node: "n1", GPUs: 2}}, &s); got != want[i] {
				t.Errorf("2 GPUs of job %d count for %d of type %s, want %d", i+1, got, k, want[i])
			}
		}
	}
}
