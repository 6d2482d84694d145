package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// TestPolicyPerPartition: on one real Slurm the policy of one partition is annealing, of another with two
// types of GPU welfare, and of the third the default. Jobs in each grow, shrink and complete, and
// each decision has a reason.
func TestPolicyPerPartition(t *testing.T) {
	t.Parallel()
	s := play(t, func(c *site.Config) {
		c.Lab.Nodes, c.Lab.GPUs = 5, 2
		c.Lab.GPUTypes = []string{"big", "big", "big", "small", "big"}
		c.Lab.Partitions = []lab.Partition{
			{Name: "anneal", Nodes: []string{"gpu1", "gpu2"}}, {Name: "mixed", Nodes: []string{"gpu3", "gpu4"}}, {Name: "plain", Nodes: []string{"gpu5"}},
		}
		c.Config = quick + "[partition.anneal]\npolicy = \"annealing\"\n[partition.mixed]\npolicy = \"welfare\"\n"
	})
	small := []string{"--slow", "gpu4=3"}
	// What a step takes on each type is learned first.
	for _, node := range []string{"gpu3", "gpu4"} {
		teach := s.submit("teach-"+node, "", 2, []string{"--model=net", "--partition=mixed", "--max-gpus=1", "--exclude=" + map[string]string{"gpu3": "gpu4", "gpu4": "gpu3"}[node]}, small...)
		if state := teach.ends(); state != "COMPLETED" {
			t.Fatalf("ended as %s", state)
		}
	}
	wide := s.submit("wide", "", 24, []string{"--partition=anneal", "--max-gpus=4"})
	alone := s.submit("alone", "", 8, []string{"--partition=plain", "--max-gpus=2"})
	fast := s.submit("fast", "", 12, []string{"--model=net", "--partition=mixed", "--max-gpus=2"}, small...)
	wide.runsOn(4)
	alone.runsOn(2)
	fast.until("to run on the faster node", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs == 2 && onNodes(v, "gpu3") })
	for id, policy := range map[int64]string{wide.id: "annealing", fast.id: "welfare", alone.id: "lookahead"} {
		if out := s.as("", "sluice", "explain", fmt.Sprint(id)); !strings.Contains(out, "by policy "+policy+"\n") {
			t.Errorf("explained as\n%s", out)
		}
	}
	guest := s.submit("guest", "", 4, []string{"--partition=anneal", "--max-gpus=1"})
	guest.until("to get GPUs back", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs == 1 })
	for _, j := range []*job{wide, alone, fast, guest} {
		j.completes()
	}
}
