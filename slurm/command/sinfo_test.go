package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNodesOfEachRelease(t *testing.T) {
	for _, release := range releases {
		var b strings.Builder
		for _, name := range []string{"sinfo.txt", "sinfo-down.txt", "sinfo-drained.txt"} {
			nodes, err := parseNodes(fixture(t, release, name), fixtureDelimiter)
			if err != nil || len(nodes) != 3 {
				t.Fatalf("%s %s: %d nodes, %v", release, name, len(nodes), err)
			}
			fmt.Fprintln(&b, name)
			for _, n := range nodes {
				ok, why := n.Usable()
				fmt.Fprintf(&b, "%s %v %v usable=%v%s gpus=%d/%d%s cpus=%d/%d mem=%d/%d %v reason=%q\n", n.Name, n.Partitions, n.States, ok, why,
					n.GPUsUsed, n.GPUs, n.GPUType, n.CPUsUsed, n.CPUs, n.MemUsedMB, n.MemoryMB, n.Features, n.Reason)
			}
		}
		golden(t, release+"/sinfo.golden", b.String())
	}
}

// TestWhatNodesMustSay checks what every release reports of nodes.
func TestWhatNodesMustSay(t *testing.T) {
	for _, release := range releases {
		nodes, err := parseNodes(fixture(t, release, "sinfo-drained.txt"), fixtureDelimiter)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"DRAIN", "MAINT", "NOT_RESPONDING"} {
			ok, why := nodes[i].Usable()
			if ok || !strings.HasPrefix(why, want) {
				t.Errorf("%s: %s is usable=%v because of %s; want %s", release, nodes[i].Name, ok, why, want)
			}
		}
		if nodes[0].Reason != "fan @ 50% | see #12" || nodes[1].Reason != "" || nodes[2].GPUType != "a100" {
			t.Errorf("%s: %+v", release, nodes)
		}
		busy, err := parseNodes(fixture(t, release, "sinfo.txt"), fixtureDelimiter)
		if err != nil {
			t.Fatal(err)
		}
		for i, used := range []int{2, 4, 4} {
			n := busy[i]
			if ok, _ := n.Usable(); !ok || n.GPUs != 4 || n.GPUsUsed != used || n.CPUs != 16 || n.MemoryMB != 4000 || !slices.Contains(n.Partitions, "gpu") {
				t.Errorf("%s: %+v, want %d GPUs used", release, n, used)
			}
		}
	}
}

func TestNodeStates(t *testing.T) {
	for _, c := range []struct{ complete, long, want string }{
		{"idle", "idle", "IDLE"},
		{"mixed+drain+not_responding", "draining*", "MIXED DRAIN NOT_RESPONDING"},
		{"idle+maintenance+reserved", "maint", "IDLE MAINT RESERVED"},
		{"", "idle", "IDLE"}, {"", "draining*", "DRAINING NOT_RESPONDING"}, {"", "mixed$", "MIXED MAINT"},
		{"", "idle~", "IDLE POWERED_DOWN"}, {"", "idle-", "IDLE PLANNED"}, {"", "drained*~", "DRAINED POWERED_DOWN NOT_RESPONDING"},
		{"", "", "UNKNOWN"}, {"", "*", "UNKNOWN NOT_RESPONDING"},
	} {
		if got := strings.Join(nodeStates(c.complete, c.long), " "); got != c.want {
			t.Errorf("nodeStates(%q, %q) = %s, want %s", c.complete, c.long, got, c.want)
		}
	}
}

// TestAnUnreadableNodeIsNotUsed: the other nodes are.
func TestAnUnreadableNodeIsNotUsed(t *testing.T) {
	out := fixture(t, "22.05", "sinfo.txt")
	bad := strings.Replace(out, "gpu2@fixture|gpu@fixture|mixed@fixture|mixed@fixture|gpu:4", "gpu2@fixture|gpu@fixture|mixed@fixture|mixed@fixture|gpu:x:y:4", 1)
	if bad == out {
		t.Fatal("the fixture has changed")
	}
	nodes, err := parseNodes(bad, fixtureDelimiter)
	if err != nil || len(nodes) != 3 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	for _, n := range nodes {
		if ok, _ := n.Usable(); ok == (n.Name == "gpu2") {
			t.Errorf("%s usable=%v", n.Name, ok)
		}
	}
	if _, err := parseNodes(strings.ReplaceAll(out, "gpu1@", "@"), fixtureDelimiter); err != nil {
		t.Errorf("two records without a name: %v", err)
	}
	nameless := out
	for _, n := range []string{"gpu1@", "gpu2@", "gpu3@"} {
		nameless = strings.ReplaceAll(nameless, n, "@")
	}
	if _, err := parseNodes(nameless, fixtureDelimiter); err == nil {
		t.Error("an answer without node names passed for an empty cluster")
	}
}
