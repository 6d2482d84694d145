package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// nodeAsker counts queries for nodes.
type nodeAsker struct {
	slurm.Client
	asked int
}

func (n *nodeAsker) Nodes(ctx context.Context) ([]slurm.Node, error) {
	n.asked++
	return n.Client.Nodes(ctx)
}

// TestWhatHappenedIsLookedAt: while nothing changes every second cycle does not query the nodes. A cycle
// after a notification, for example of a drained node, always does.
func TestWhatHappenedIsLookedAt(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	var slurm *nodeAsker
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		slurm = &nodeAsker{Client: c.Slurm}
		c.Slurm, c.Period = slurm, 30*time.Second
	})
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60_000}})
	d.drive(t, 5*time.Minute)
	look := func() int {
		t.Helper()
		before := slurm.asked
		if _, err := d.Cycle(t.Context(), w.Now()); err != nil {
			t.Fatal(err)
		}
		return slurm.asked - before
	}
	if first, second := look(), look(); first+second != 1 {
		t.Errorf("two undisturbed cycles queried the nodes %d times", first+second)
	}
	for range 3 {
		d.Happened()
		if look() != 1 {
			t.Error("something happened, and the nodes were not asked for")
		}
	}
}
