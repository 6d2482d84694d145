package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Eve's job reports false speeds of a model that alice trains too. They do not affect alice's job unless
// the site shares speeds among users.
func TestWhoLearnsFromAJob(t *testing.T) {
	spec := elastic.Spec{Min: 1, Max: 4, Total: 5, Model: "resnet50"}
	for name, c := range map[string]struct {
		second string
		share  bool
		learns bool
	}{
		"another user":                     {"alice", false, false},
		"another user, where users share":  {"alice", true, true},
		"the same user":                    {"eve", false, true},
		"the same user, where users share": {"eve", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "lookahead", func(e *engine.Config) { e.ShareSpeeds = c.share })
			w.Submit(world.Job{User: "eve", Spec: spec, Behaviour: world.Behaviour{Lie: 100}})
			if err := w.Drive(ctx, d, 2*time.Hour); err != nil {
				t.Fatal(err)
			}
			second := w.Submit(world.Job{User: c.second, Spec: spec})
			if _, err := d.Cycle(ctx, w.Now()); err != nil {
				t.Fatal(err)
			}
			for _, jr := range d.Report().Jobs {
				if jr.Record.ID != elastic.JobID(second.ID()) {
					continue
				}
				if learned := jr.Job.Curve.Samples() > 0; learned != c.learns {
					t.Errorf("%d samples are known", jr.Job.Curve.Samples())
				}
				return
			}
			t.Error("the second job is not seen")
		})
	}
}
