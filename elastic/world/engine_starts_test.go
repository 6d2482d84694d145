package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// starts counts how often the daemon started each job from a time on.
func starts(w *world.World, from time.Time) map[int64]int {
	out := map[int64]int{}
	for _, c := range w.Slurm.Changes() {
		if c.By == world.Daemon && !c.At.Before(from) && c.Op == "scontrol update starttime now" {
			out[int64(c.Job)]++
		}
	}
	return out
}

// mostStarts is how often a job may be started in an hour, moves included.
const mostStarts = 40

// TestOrdinaryJobOfUnevenSplit: nine GPUs on three nodes of four are 4+4+1. A job that starts beside them
// loses at most one race, and is then not moved.
func TestOrdinaryJobOfUnevenSplit(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	w.Ordinary("carol", 3, 9, 3*time.Hour)
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 3, Total: 400}, Model: world.Amdahl(60, 0.05)})
	if err := w.Drive(context.Background(), d, time.Hour); err != nil {
		t.Error(err)
	}
	if n := starts(w, time.Time{})[2]; n > 2 || len(job.Runs()) != 1 {
		t.Errorf("released %d times, %d runs\n%s", n, len(job.Runs()), d.log.String()[:min(4000, d.log.Len())])
	}
}

// TestStartsAreBounded: whatever ordinary jobs come and go, in Slurm's order or by size, no job is
// released again and again.
func TestStartsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		many := rapid.IntRange(1, 4).Draw(rt, "nodes")
		w := world.New(world.Config{Fake: fake.Config{Seed: 1, Nodes: fake.Grid(many, 4), Strict: rapid.Bool().Draw(rt, "strict")}})
		d := boot(t, w, new(journal.Memory), rapid.SampledFrom([]string{"lookahead", "knapsack", "fcfs"}).Draw(rt, "policy"))
		var drawn strings.Builder
		for range rapid.IntRange(1, 6).Draw(rt, "jobs") {
			at := time.Duration(rapid.IntRange(0, 20).Draw(rt, "minute")) * time.Minute
			if rapid.Bool().Draw(rt, "ordinary") {
				n := rapid.IntRange(1, many).Draw(rt, "on")
				g := rapid.IntRange(n, 4*n).Draw(rt, "gpus")
				runs := time.Duration(rapid.IntRange(1, 90).Draw(rt, "runs")) * time.Minute
				fmt.Fprintf(&drawn, "%s: ordinary, %d GPUs on %d nodes for %s\n", at, g, n, runs)
				w.At(at, func() { w.Ordinary("carol", n, g, runs) })
				continue
			}
			least := rapid.IntRange(1, 4).Draw(rt, "min")
			spec := elastic.Spec{Min: least, Max: rapid.IntRange(least, 8).Draw(rt, "max"), Total: 1000}
			fmt.Fprintf(&drawn, "%s: %+v\n", at, spec)
			w.At(at, func() {
				w.Submit(world.Job{User: "alice", Spec: spec, Model: world.Amdahl(60, 0.05), Limit: 3 * time.Hour})
			})
		}
		if err := w.Drive(context.Background(), d, 20*time.Minute); err != nil {
			rt.Fatal(err)
		}
		from := w.Now()
		if err := w.Drive(context.Background(), d, time.Hour); err != nil {
			rt.Fatal(err)
		}
		for id, n := range starts(w, from) {
			if n > mostStarts {
				log := d.log.String()
				rt.Fatalf("job %d was released %d times in an hour\n%s%s", id, n, drawn.String(), log[max(0, len(log)-3000):])
			}
		}
	})
}
