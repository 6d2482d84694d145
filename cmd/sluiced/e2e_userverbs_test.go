package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestUserModeVerbs: a personal sluiced serves checkpoint, requeue, hold and release without privileges.
// Draining a node needs rights in Slurm, and is refused with a clear error before anything is
// announced.
func TestUserModeVerbs(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2), withUsers(verbs), func(c *site.Config) { c.User = verbs[0] })
	me, other := verbs[0], verbs[1]
	j := s.submit("verbs", me, 60, []string{"--min-gpus=2", "--max-gpus=2"})
	id := fmt.Sprint(j.id)
	j.runsOn(2)

	if out := s.as(me, "sluice", "checkpoint", id, "--wait"); !strings.Contains(out, "job "+id+" saved checkpoint ") {
		t.Errorf("checkpoint says %q", out)
	}
	if starts := j.field("Restarts"); starts != "0" {
		t.Errorf("a checkpoint restarted the job: %s restarts", starts)
	}
	s.as(me, "sluice", "requeue", id)
	j.until("to be started again", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Restarts == 1 })

	s.as(me, "sluice", "hold", id)
	j.until("to be held", func(v wire.Job) bool { return v.OnHold })
	s.as(me, "sluice", "release", id)
	j.until("to be released", func(v wire.Job) bool { return !v.OnHold && v.State == "RUNNING" && v.Move == nil })
	if held := s.submit("waits", me, 3, []string{"--hold"}); true {
		held.until("to be known as held", func(v wire.Job) bool { return v.OnHold && v.State == "PENDING" })
		s.as(me, "sluice", "release", fmt.Sprint(held.id))
		held.completes()
	}

	out, err := s.Run(s.ctx, me, "sluice", "nodes", "--drain", "gpu1", "--reason", "mine alone")
	if err == nil || !strings.Contains(err.Error(), "sluice: error: ") || !strings.Contains(err.Error(), "you may not change nodes") || strings.Contains(out, "Slurm starts nothing new") {
		t.Errorf("a drain without rights: %q, %v", out, err)
	}
	t.Logf("a drain without rights: %v", err)
	if node := s.as("", "scontrol", "-o", "show", "node", "gpu1"); strings.Contains(node, "DRAIN") {
		t.Errorf("the node is drained: %s", node)
	}
	if out := s.as(me, "sluice", "nodes", "--drain", "gpu1", "--reason", "mine alone", "--dry-run"); !strings.Contains(out, "Slurm starts nothing new on gpu1") {
		t.Errorf("a dry run says %q", out)
	}
	for _, verb := range []string{"checkpoint", "requeue", "hold"} {
		if out, err := s.Run(s.ctx, other, "sluice", verb, id); err == nil || !strings.Contains(err.Error(), "sluice: error:") {
			t.Errorf("%s by another user: %q, %v", verb, out, err)
		}
	}
	s.cancel(j)
	j.until("to end", func(v wire.Job) bool { return v.Ended })
}
