package world_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestMemoryOfManyDays: an engine that runs for days, with a job every few minutes, holds only jobs that
// ended within the last day: after five days as much as after two, and for each of these jobs at
// most perEnded.
func TestMemoryOfManyDays(t *testing.T) {
	unraced(t)
	const every = 8 * time.Minute
	const perEnded = 12 << 10 // bytes: its record and its entries in the last two reports
	size := func(days int) (bytes int64, listed int) {
		w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4)}})
		kept := new(journal.Memory)
		d := boot(t, w, kept, "lookahead", func(cfg *engine.Config) {
			cfg.Period, cfg.Transition, cfg.Events = 2*time.Minute, 20*time.Second, func(event.Event) {}
		}).Engine
		for range time.Duration(days) * 24 * time.Hour / every {
			w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 5}, Model: world.Amdahl(60, 0.05)})
			drive(t, w, d, every)
		}
		listed = len(d.Report().Jobs)
		with := live()
		runtime.KeepAlive(d)
		d = nil
		bytes = with - live()
		runtime.KeepAlive(w)
		runtime.KeepAlive(kept)
		return bytes, listed
	}
	early, late := 2, 5
	before, listed := size(early)
	after, listedLater := size(late)
	t.Logf("after %d days %d KB and %d jobs, after %d days %d KB and %d jobs", early, before>>10, listed, late, after>>10, listedLater)
	if perDay := int(24 * time.Hour / every); listed < perDay || listedLater > perDay+10 {
		t.Errorf("%d jobs are listed after %d days, %d after %d; %d were handed in a day", listed, early, listedLater, late, perDay)
	}
	if after > int64(listedLater)*perEnded {
		t.Errorf("%d bytes are held for %d jobs", after, listedLater)
	}
	if after > before+before/5 {
		t.Errorf("%d bytes are held after %d days, %d after %d", before, early, after, late)
	}
}
