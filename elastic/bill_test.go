package elastic_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestBilling: the billing of 4 GPUs on a node with blue and 2 on one with red GPUs, or of that
// many GPUs in an unknown place. The sizes include CPUs, memory and nodes.
func TestBilling(t *testing.T) {
	s := elastic.Snapshot{Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Type: "blue"}, {Name: "n2", GPUs: 4, Type: "red"}}}
	place := nodes.Placement{{Node: "n1", GPUs: 4}, {Node: "n2", GPUs: 2}}
	j := elastic.Job{ID: 1, Phase: elastic.Waiting, Partition: "a", Spec: elastic.Spec{Min: 1, CPUsPerGPU: 2, MemPerGPUMB: 1024}}
	for _, tc := range []struct {
		name         string
		bill         elastic.Bill
		placed, free int // GPUs on the nodes above, and 6 GPUs on 2 nodes anywhere
	}{
		{"CPUs", elastic.Bill{CPU: 1}, 12, 12},
		{"a sum, cut off", elastic.Bill{CPU: .5, MB: .25 / 1024, Node: .1, GPU: 1.5}, 16, 16}, // 6+1.5+0.2+9
		{"the largest", elastic.Bill{CPU: .5, MB: .25 / 1024, Node: .1, GPU: 1.5, Largest: true}, 9, 9},
		{"the largest, and GRES", elastic.Bill{CPU: .5, MB: .25 / 1024, Node: .1, GPU: 1.5, GRES: true}, 15, 15},
		{"a type beside any", elastic.Bill{GPU: 1, Types: map[string]float64{"red": 10}}, 26, 66},
		{"the largest of types", elastic.Bill{GPU: 1, Types: map[string]float64{"red": 10, "blue": 2}, Largest: true}, 20, 60},
		{"nothing", elastic.Bill{}, 0, 0},
	} {
		c := elastic.Cap{Of: elastic.Billing, Jobs: map[elastic.JobID]bool{1: true}, Bills: map[string]elastic.Bill{"a": tc.bill}, Each: true}
		if got := c.Takes(&j, 6, 2, 4); got != tc.free {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.free)
		}
		if got := c.Use(&j, place, &s); got != tc.placed {
			t.Errorf("%s: %d at the place, want %d", tc.name, got, tc.placed)
		}
	}
}

// TestBillingOfPartitions: a job with several partitions may be billed by the most expensive; a
// virtual partition is billed as the partition it is part of.
func TestBillingOfPartitions(t *testing.T) {
	c := elastic.Cap{Of: elastic.Billing, Bills: map[string]elastic.Bill{"cheap": {GPU: 1}, "dear": {GPU: 3}}}
	for partition, want := range map[string]int{"cheap": 4, "cheap,dear": 12, "dear@n1": 12, "elsewhere": 1, "cheap,elsewhere": 4} {
		j := elastic.Job{ID: 1, Partition: partition}
		if got := c.Takes(&j, 4, 1, 4); got != want {
			t.Errorf("in %s: %d, want %d", partition, got, want)
		}
	}
	c.Least = true
	if got := c.Takes(&elastic.Job{Partition: "cheap,dear"}, 4, 1, 4); got != 4 {
		t.Errorf("at least %d, want 4", got)
	}
}
