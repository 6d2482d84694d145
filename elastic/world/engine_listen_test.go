package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestListensForEnds: an engine with Listen reuses the GPUs of an ended job within seconds, not at its
// next period up to 30 s later.
func TestListensForEnds(t *testing.T) {
	for _, listens := range []bool{true, false} {
		w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
		d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Listen = listens })
		first := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 47}, Every: 1})
		next := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 60}, Every: 1})
		var ended, started time.Time
		give := w.Now().Add(3 * time.Hour)
		for started.IsZero() && w.Now().Before(give) {
			wake, err := d.Cycle(t.Context(), w.Now())
			if err != nil {
				t.Fatal(err)
			}
			if !ended.IsZero() && d.of(t, next).Job.Phase == elastic.Running {
				started = w.Now()
			}
			for w.Now().Before(wake) {
				if w.Slurm.AdvanceTo(w.Now().Add(min(time.Second, wake.Sub(w.Now())))); ended.IsZero() && first.Ended() {
					ended = w.Now()
				}
				if d.Exited() {
					break
				}
			}
		}
		idle := started.Sub(ended)
		t.Logf("listens %v: %v idle", listens, idle)
		if ended.IsZero() || started.IsZero() || listens != (idle < 8*time.Second) {
			t.Errorf("listens %v: ended %v, the next started %v later\n%s", listens, ended, idle, d.log.String())
		}
	}
}

// TestFalseEndsAreBounded: a job that reports its end and continues makes the engine query more often for
// 15 s of each run, and not after.
func TestFalseEndsAreBounded(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Listen, c.Mailbox = true, dying{c.Mailbox} })
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 6000}})
	cycles := 0
	for end := w.Now().Add(30 * time.Minute); w.Now().Before(end); cycles++ {
		wake, err := d.Cycle(t.Context(), w.Now())
		if err != nil {
			t.Fatal(err)
		}
		for w.Now().Before(wake) {
			w.Slurm.AdvanceTo(w.Now().Add(min(time.Second, wake.Sub(w.Now()))))
			if d.Exited() {
				break
			}
		}
	}
	if cycles > 60+30+30 { // usual cycles, those after the report, and those for the start
		t.Errorf("%d cycles in 30 minutes", cycles)
	}
}
