package policy_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestAdmittedJobGrowsBeforeWaitingJobs: idle GPUs are kept for a waiting job, except those that an
// earlier admission needs.
func TestAdmittedJobGrowsBeforeWaitingJobs(t *testing.T) {
	var samples []speed.Sample
	for _, gpus := range []int{1, 2, 4} {
		samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Units: 1, At: now, Seconds: 1 / float64(gpus)})
	}
	curve := speed.Fit(samples, now)
	s := elastic.Snapshot{
		Now: now,
		Nodes: []nodes.Node{
			{Name: "n1", GPUs: 4, Used: 4, Usable: true, Partitions: []string{"gpu"}},
			{Name: "n2", GPUs: 4, Usable: true, Partitions: []string{"fast"}},
		},
		Jobs: []elastic.Job{
			{ID: 1, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1}, Curve: curve},
			{ID: 2, Partition: "gpu,fast", Phase: elastic.Running, Speaks: true, Promised: true, Curve: curve,
				Spec:  elastic.Spec{Min: 1, Total: 1000, Deadline: now.Add(270 * time.Second)},
				Place: nodes.Placement{{Node: "n1", GPUs: 1}}},
		},
	}
	for _, p := range policy.All {
		if p.Name != "lookahead" && p.Name != "annealing" {
			continue
		}
		if a := p.Allocate(s); a[2].GPUs < 4 {
			t.Errorf("%s: the promised job gets %d GPUs (%s), and needs 4", p.Name, a[2].GPUs, sentence(a[2].Why))
		}
	}
}
