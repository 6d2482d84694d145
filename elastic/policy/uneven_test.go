package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestAdviceToSplitUnevenly: --allow-uneven is mentioned where it would help, and only there.
func TestAdviceToSplitUnevenly(t *testing.T) {
	inventory := func(used ...int) (out []nodes.Node) {
		for i, n := range used {
			out = append(out, nodes.Node{Name: string(rune('a' + i)), Partitions: []string{"gpu"}, GPUs: 4, Used: n, Usable: true, CPUs: 16, MemoryMB: 64000})
		}
		return out
	}
	three := inventory(0, 0, 0)
	three[0].GPUs = 3
	for _, tc := range []struct {
		name  string
		nodes []nodes.Node
		job   elastic.Job
		want  string
		named bool // --allow-uneven is mentioned
	}{
		{"11 of 3+4+4", inventory(1, 0, 0), elastic.Job{Spec: elastic.Spec{Min: 11}}, "but a job gets the same number on each node", true},
		{"on at most two nodes", inventory(1, 0, 0), elastic.Job{Spec: elastic.Spec{Min: 11}, MaxNodes: 2}, "cannot start", false},
		{"on one node", inventory(2, 2, 2), elastic.Job{Spec: elastic.Spec{Min: 4}, MaxNodes: 1}, "number of nodes it needs", false},
		{"with CPUs for a part", inventory(1, 0, 0), elastic.Job{Spec: elastic.Spec{Min: 11, CPUsPerGPU: 6}}, "CPUs, memory or number of nodes it needs", false},
		{"nodes of 3, 4 and 4", three, elastic.Job{Spec: elastic.Spec{Min: 11}}, "cannot start: 11 GPUs cannot be split evenly", true},
		{"more than there are", three, elastic.Job{Spec: elastic.Spec{Min: 12}}, "the usable nodes of its partition have 11", false},
	} {
		tc.job.ID, tc.job.Phase, tc.job.Partition = 7, elastic.Waiting, "gpu"
		p, err := policy.ByName("lookahead")
		if err != nil {
			t.Fatal(err)
		}
		why := say.Reason(p.Decide(elastic.Snapshot{Nodes: tc.nodes, Jobs: []elastic.Job{tc.job}})[7].Why, time.Time{})
		if !strings.Contains(why, tc.want) || strings.Contains(why, "--allow-uneven") != tc.named {
			t.Errorf("%s: %s", tc.name, why)
		}
	}
}
