package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestAFixedSizeIsNoMinimum: the reason of a job with a fixed size says so, and does not mention
// checkpoints, which would change nothing.
func TestAFixedSizeIsNoMinimum(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period, c.Proven = time.Second, false })
	j := w.Submit(world.Job{User: "ann", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}, Behaviour: world.Behaviour{Silent: true}})
	d.drive(t, 20*time.Second)
	if why := sentence(d.of(t, j).Why); why != "stays at 2 GPUs: it takes no other size" {
		t.Errorf("running: %s", why)
	}
	if log := d.log.String(); !strings.Contains(log, "starts on 2 GPUs, which it asks for") || strings.Contains(log, "no checkpoint seen yet") {
		t.Error(log)
	}
}
