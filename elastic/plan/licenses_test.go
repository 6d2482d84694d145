package plan_test

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

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
		{ID: 2, Phase: elastic.Waiting, Partition: "gpu", Spec: elastic.Spec{Min: 1}, Licenses: []string{"lic", "other"}},
		{ID: 3, Phase: elastic.Waiting, Partition: "gpu", Spec: elastic.Spec{Min: 1}},
	}
	a := elastic.Allocation{1: {GPUs: 4}, 2: {GPUs: 1}, 3: {GPUs: 1}}
	for _, order := range [][]elastic.JobID{{1, 2, 3}, {2, 1, 3}} {
		where := plan.Arrange(s, a)
		where.Order = order
		opens := plan.Reconcile(s, a, where).Open
		var opened []elastic.JobID
		for _, in := range opens {
			opened = append(opened, in.Job)
		}
		if len(opened) != 2 || (opened[0] == order[0]) == (opened[0] == order[1]) || opened[1] != 3 {
			t.Errorf("in the order %v opened %v", order, opened)
		}
	}
}

// TestLicensesBetweenSizes: a job does not start with a license of one that is between two
// sizes. It keeps its GPUs meanwhile, and gets no more.
func TestLicensesBetweenSizes(t *testing.T) {
	c := newDecided()
	c.job(t, "n2:1", "n2:2").Licenses = []string{"matlab"}
	c.s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Step: elastic.Asked, From: placed(t, "n2:1"), Target: placed(t, "n2:2")}}
	c.job(t, "", "n1:2").Licenses = []string{"ansys", "matlab"}
	c.job(t, "", "n1:2")
	c.job(t, "", "n1:2")
	c.job(t, "", "n3:2").Licenses = []string{"ansys"}
	p, got := c.opens()
	if want := "start 3 on n1:2, start 5 on n3:2"; got != want {
		t.Errorf("opened %q, want %q", got, want)
	}
	if why := sentence(p.Reasons[1].Why); !strings.Contains(why, "waits until job 1, which asks for the same licenses") {
		t.Errorf("%q", why)
	}
}
