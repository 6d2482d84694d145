package world_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestMoveOfANewerSluiceHasNoEffect: after a downgrade the journal has a move of a kind that this daemon
// does not know. The daemon decides nothing, asks and stops no job, and the job completes.
func TestMoveOfANewerSluiceHasNoEffect(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(1, 4)}})
	kept := new(journal.Memory)
	d := boot(t, w, kept, "fcfs")
	job := w.Submit(world.Job{Spec: elastic.Spec{Min: 2, Max: 4, Total: 20}, Model: world.Perfect(120)})
	d.drive(t, time.Minute)
	id := d.of(t, job).Record.ID
	place := nodes.Placement{{Node: "n1", GPUs: 2}}
	if _, err := kept.Intend(context.Background(), []elastic.Intent{{
		Job: id, Kind: "merge", Step: elastic.Intended, To: 2, From: place, Target: place, Request: "9.2.1", Opened: w.Now(), Moved: w.Now(),
	}}); err != nil {
		t.Fatal(err)
	}
	d = boot(t, w, kept, "lookahead")
	refused := 0
	for range 60 { // as the daemon: every cycle fails and is tried again
		_, err := d.Cycle(context.Background(), w.Now())
		if errors.Is(err, elastic.ErrUnknownMove) {
			refused++
		}
		w.Advance(30 * time.Second)
	}
	if refused != 60 {
		t.Errorf("%d of 60 cycles were refused for the unknown move\n%s", refused, d.log.String())
	}
	if runs := job.Runs(); len(runs) != 1 || runs[0].Ended.IsZero() {
		t.Errorf("the job ran %d times, %+v: want once, to its end", len(job.Runs()), runs)
	}
	if log := d.log.String(); strings.Contains(log, "act") {
		t.Errorf("the daemon acted:\n%s", log)
	}
}
