package world_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// daemon is the real engine in a simulated world, with its event log.
type daemon struct {
	*engine.Engine
	w   *world.World
	log strings.Builder
}

// memory is a journal and the samples beside it.
type memory interface {
	journal.Journal
	journal.Samples
}

// sampling is 5 by default: tests that combine effects with something else try every fifth effect, every
// 25th under the race detector. It is 1 with SLUICE_EXHAUSTIVE=1.
func sampling() int {
	if os.Getenv("SLUICE_EXHAUSTIVE") == "1" {
		return 1
	}
	return 5 * oneIn()
}

// oneIn is 1. Under the race detector it is 5: tests of many cases, as of every effect, try every fifth.
func oneIn() int {
	if underRace && os.Getenv("SLUICE_EXHAUSTIVE") != "1" {
		return 5
	}
	return 1
}

func limits() elastic.Limits {
	return elastic.Limits{
		Cooldown: time.Minute, Payback: 1, Grace: time.Minute, Confirm: 2 * time.Minute, Moves: 0, DeafAfter: 2,
	}
}

// everyPolicy returns all policies, for tests of what each of them MUST do; under the race detector every
// fifth.
func everyPolicy() (out []policy.Policy) {
	for i, p := range policy.All {
		if !underRace || i%5 == 0 {
			out = append(out, p)
		}
	}
	return out
}

// boot starts an engine on the world with a journal. The same journal again is a restart after a crash.
func boot(t *testing.T, w *world.World, kept memory, name string, change ...func(*engine.Config)) *daemon {
	t.Helper()
	p, err := policy.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{w: w}
	start := w.Now()
	if w.Records != nil {
		w.Records.Starts(start)
	}
	cfg := engine.Config{
		Seams: engine.Seams{Slurm: w.Client, Journal: kept, Samples: kept, Mailbox: w.Mail}, Policy: p,
		Rules: track.Rules{
			Limits: limits(),
			Price:  elastic.Price{Save: 2 * time.Second, Drain: time.Second, Start: 2 * time.Second, Load: 5 * time.Second},
			Period: 30 * time.Second, Transition: 500 * time.Millisecond, Backoff: time.Minute, Proven: true,
		},
		Events: func(e event.Event) {
			if w.Records != nil {
				w.Records.Event(e)
			}
			fmt.Fprintf(&d.log, "%8.1f job %d %s: %s\n", e.At.Sub(start).Seconds(), e.Job, e.Kind, e.Text)
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	d.Engine = engine.New(cfg)
	return d
}

// TestOrdinaryJobIsYieldedTo: an ordinary job arrives on a cluster full of elastic jobs. The event log is
// the specification. Read the diff before -update.
func TestOrdinaryJobIsYieldedTo(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
	d := boot(t, w, new(journal.Memory), "knapsack")
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 40}, Model: world.Amdahl(60, 0.05)})
	w.At(100*time.Second, func() {
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 8, Total: 20}, Model: world.Amdahl(60, 0.05)})
	})
	w.At(130*time.Second, func() { w.Ordinary("carol", 1, 4, 5*time.Minute) })
	if err := w.Drive(context.Background(), d, 2*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	golden(t, "ordinary.txt", d.log.String())
}

// golden compares with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if the change is meant, run go test ./elastic/world -update and read the diff\ngot:\n%s", path, got)
	}
}
