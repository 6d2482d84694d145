package elastic_test

import (
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

func TestAttainable(t *testing.T) {
	inventory := []nodes.Node{
		{Name: "gpu1", GPUs: 4, Used: 4, Usable: true, CPUs: 8, CPUsUsed: 8, Partitions: []string{"a"}},
		{Name: "gpu2", GPUs: 4, Why: nodes.Unusable{State: "DOWN"}, CPUs: 8, Partitions: []string{"a"}},
		{Name: "gpu3", GPUs: 2, Usable: true, CPUs: 8, Spanning: 1, Partitions: []string{"b"}},
	}
	sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for name, c := range map[string]struct {
		job  elastic.Job
		want string
	}{
		"anywhere":         {elastic.Job{}, "[1 2 3 4 6 8]"},
		"in one partition": {elastic.Job{Partition: "b"}, "[1 2]"},
		"in either":        {elastic.Job{Partition: "b,a"}, "[1 2 3 4 6 8]"},
		"any split":        {elastic.Job{Spec: elastic.Spec{AllowUneven: true}}, "[1 2 3 4 5 6 7 8 9 10]"},
		"on one node":      {elastic.Job{MaxNodes: 1}, "[1 2 3 4]"},
		"many CPUs a GPU":  {elastic.Job{Spec: elastic.Spec{CPUsPerGPU: 4}}, "[1 2 3 4 6]"},
	} {
		if got := fmt.Sprint(elastic.Attainable(c.job, inventory, sizes)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if inventory[0].Used != 4 || inventory[1].Usable {
		t.Error("the inventory was changed")
	}
}
