package world_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// lacking omits one job from the first answer about all jobs.
type lacking struct {
	slurm.Client
	id   slurm.JobID
	once bool
}

func (l *lacking) Jobs(ctx context.Context) ([]slurm.Job, error) {
	jobs, err := l.Client.Jobs(ctx)
	if !l.once {
		l.once = true
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j slurm.Job) bool { return j.ID == l.id })
	}
	return jobs, err
}

// TestOlderStoreAndHalfAnAnswer: an older copy of the store is restored, and the first answer about all
// jobs lacks one that has moved since. No incarnation is assigned twice, since the job's comment
// has it.
func TestOlderStoreAndHalfAnAnswer(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	kept := new(journal.Memory)
	quick := func(c *engine.Config) { c.Period = time.Second }
	d := boot(t, w, kept, "lookahead", quick)
	moved := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 20_000}})
	other := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 2, Total: 20_000}})
	d.drive(t, 2*time.Minute)
	old := kept.Copy()
	before := d.of(t, moved).Record.Tag.Incarnation
	d.pin(t, moved, 3)
	d.drive(t, 2*time.Minute)
	given := d.of(t, moved).Record.Tag.Incarnation
	if given <= before {
		t.Fatalf("incarnation %d, then %d: it did not move", before, given)
	}
	must(t, w.User("bob").Cancel(t.Context(), other.ID()))
	d = boot(t, w, old, "lookahead", quick, func(c *engine.Config) { c.Slurm = &lacking{Client: c.Slurm, id: moved.ID()} })
	d.drive(t, 2*time.Minute)
	if got := d.of(t, moved); got.Record.Tag.Incarnation <= given {
		t.Errorf("%d GPUs in incarnation %d after %d", got.Job.GPUs(), got.Record.Tag.Incarnation, given)
	}
	for again := before + 1; again <= given; again++ {
		if strings.Contains(d.log.String(), fmt.Sprintf(", incarnation %d:", again)) {
			t.Errorf("incarnation %d is given again\n%s", again, d.log.String())
		}
	}
}
