package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestDrain: on a real Slurm a job leaves a node that `sluice nodes --drain` drains, and a
// node on which maintenance begins soon, at its size and with nothing lost.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2))
	j := s.submit("mover", "", 60, []string{"--min-gpus=2", "--max-gpus=2"})
	from := j.runsOn(2).Place[0].Node
	to := map[string]string{"gpu1": "gpu2", "gpu2": "gpu1"}[from]
	plan := s.as("", "sluice", "nodes", "--drain", from, "--reason", "kernel update", "--dry-run")
	if want := fmt.Sprintf("job %d (mover", j.id); !strings.Contains(plan, want) || !strings.Contains(plan, "saves and moves to "+to+":2 (as things stand)") {
		t.Errorf("planned:\n%s", plan)
	}
	if out := s.as("", "scontrol", "-o", "show", "node", from); strings.Contains(out, "DRAIN") {
		t.Errorf("a dry run drained the node: %s", out)
	}
	s.as("", "sluice", "nodes", "--drain", from, "--reason", "kernel update")
	s.nodes("the node drained", func(n wire.Node) bool {
		return n.Name == from && !n.Usable && strings.Contains(n.Why, "kernel update")
	})
	j.until("to leave the drained node", func(v wire.Job) bool {
		return v.State == "RUNNING" && v.Move == nil && v.GPUs == 2 && onNodes(v, to) && !onNodes(v, from)
	})
	s.as("", "sluice", "nodes", "--resume", from)
	s.nodes("the node in service", func(n wire.Node) bool { return n.Name == from && n.Usable })
	s.as("", "scontrol", "create", "reservation", "ReservationName=maint", "StartTime=now+90", "Duration=10", "Users=root", "Nodes="+to, "Flags=maint,ignore_jobs")
	j.until("to leave before the maintenance", func(v wire.Job) bool {
		return v.State == "RUNNING" && v.Move == nil && v.GPUs == 2 && onNodes(v, from) && !onNodes(v, to)
	})
	s.as("", "scontrol", "delete", "reservation", "maint")
	tr := j.completes()
	t.Logf("runs on %v GPUs, %s restarts", tr.Worlds, j.field("Restarts"))
}
