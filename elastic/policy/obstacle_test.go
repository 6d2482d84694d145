package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestObstacles: what is said of a job that waits is what keeps it waiting.
func TestObstacles(t *testing.T) {
	for want, got := range map[string]reason.Reason{
		"waiting for 11 GPUs: 11 are free, as 3+4+4 on 3 nodes, but a job gets the same number on each node; --allow-uneven at submit lifts that": obstacle{want: 11, all: 12, free: []int{3, 4, 4}, split: true}.reason(),
		"waiting for 1 GPU: all 12 GPUs are in use; 3 jobs run at their minimum, 1 job cannot be resized now":                                     obstacle{want: 1, all: 12, minimum: 3, fixed: 1}.reason(),
		"waiting for 4 GPUs: 2 of 12 are free; 1 job runs at its minimum":                                                                         obstacle{want: 4, all: 12, free: []int{1, 1}, minimum: 1}.reason(),
		"never starts: it asks for 120 h, and the MaxTime of partition gpu is 24 h; type: scontrol update JobId=7 TimeLimit=1440":                 reason.NeverStarts{Job: 7, Asked: 120 * 3600, MaxTime: 24 * 3600, Partition: "gpu"},
		"waiting for 8 GPUs: 11 are free, as 3+4+4, but not with the CPUs, memory or number of nodes it needs":                                    obstacle{want: 8, all: 12, free: []int{3, 4, 4}}.reason(),
	} {
		if got := say.Reason(got, time.Time{}); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestAdviceToSplitUnevenly: --allow-uneven is named where it would help, and only there.
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
		named bool // --allow-uneven is
	}{
		{"11 of 3+4+4", inventory(1, 0, 0), elastic.Job{Spec: elastic.Spec{Min: 11}}, "but a job gets the same number on each node", true},
		{"on at most two nodes", inventory(1, 0, 0), elastic.Job{Spec: elastic.Spec{Min: 11}, MaxNodes: 2}, "cannot start", false},
		{"on one node", inventory(2, 2, 2), elastic.Job{Spec: elastic.Spec{Min: 4}, MaxNodes: 1}, "number of nodes it needs", false},
		{"with CPUs for a part", inventory(1, 0, 0), elastic.Job{Spec: elastic.Spec{Min: 11, CPUsPerGPU: 6}}, "CPUs, memory or number of nodes it needs", false},
		{"nodes of 3, 4 and 4", three, elastic.Job{Spec: elastic.Spec{Min: 11}}, "cannot start: 11 GPUs cannot be split evenly", true},
		{"more than there are", three, elastic.Job{Spec: elastic.Spec{Min: 12}}, "the usable nodes of its partition have 11", false},
	} {
		tc.job.ID, tc.job.Phase, tc.job.Partition = 7, elastic.Held, "gpu"
		p, err := ByName("lookahead")
		if err != nil {
			t.Fatal(err)
		}
		why := say.Reason(p.Decide(elastic.Snapshot{Nodes: tc.nodes, Jobs: []elastic.Job{tc.job}})[7].Why, time.Time{})
		if !strings.Contains(why, tc.want) || strings.Contains(why, "--allow-uneven") != tc.named {
			t.Errorf("%s: %s", tc.name, why)
		}
	}
}
