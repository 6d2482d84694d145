package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/store"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// lives is the real engine with the real store in a simulated cluster. It is stopped
// repeatedly, and faults happen to its store meanwhile.
type lives struct {
	t     *testing.T
	w     *world.World
	rng   *rand.Rand
	path  string
	next  time.Time
	now   *engine.Engine
	store *store.Store
	old   [][]byte // copies of the database, to be restored
	told  []string // what happened
	said  int      // notices
}

// storeFaults are the faults of a store between two lives of the daemon.
var storeFaults = []struct {
	name string
	do   func(l *lives) error
}{
	{"killed", func(*lives) error { return nil }},
	{"missing", func(l *lives) error {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(l.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return nil
	}},
	{"a byte flipped", func(l *lives) error {
		raw, err := os.ReadFile(l.path)
		if err != nil || len(raw) == 0 {
			return err
		}
		raw[l.rng.IntN(len(raw))] ^= 1 << l.rng.IntN(8)
		return os.WriteFile(l.path, raw, 0o600)
	}},
	{"cut off", func(l *lives) error { return os.Truncate(l.path, l.rng.Int64N(20000)) }},
	{"an old copy put back", func(l *lives) error {
		if len(l.old) == 0 {
			return nil
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if err := os.Remove(l.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return os.WriteFile(l.path, l.old[l.rng.IntN(len(l.old))], 0o600)
	}},
}

// startDaemon opens the store and starts an engine on it.
func (l *lives) startDaemon() error {
	s, notices, err := store.Open(context.Background(), l.path, l.w.Now())
	if err != nil {
		return err
	}
	l.said += len(notices)
	if raw, err := os.ReadFile(l.path); err == nil && len(raw) > 0 && l.rng.IntN(2) == 0 {
		l.old = append(l.old, bytes.Clone(raw))
	}
	p, err := policy.ByName("knapsack")
	if err != nil {
		return err
	}
	l.store = s
	if l.w.Records != nil {
		l.w.Records.Starts(l.w.Now())
	}
	l.now = engine.New(engine.Config{
		Seams: engine.Seams{Slurm: l.w.Client, Journal: s, Samples: s, Mailbox: l.w.Mail}, Policy: p,
		Rules: track.Rules{
			Limits: elastic.Limits{Cooldown: time.Minute, Payback: 1, Grace: time.Minute, Confirm: 2 * time.Minute, DeafAfter: 2},
			Price:  elastic.Price{Save: 2 * time.Second, Drain: time.Second, Start: 2 * time.Second, Load: 5 * time.Second},
			Period: 30 * time.Second, Transition: 500 * time.Millisecond, Backoff: time.Minute,
		},
		Events: func(e event.Event) {
			if l.w.Records != nil {
				l.w.Records.Event(e)
			}
		},
	})
	l.next = l.w.Now().Add(20*time.Second + time.Duration(l.rng.Int64N(int64(5*time.Minute))))
	return nil
}

// stopDaemon ends the daemon, sometimes in a way that leaves its log behind.
func (l *lives) stopDaemon() error {
	var kept [3][]byte
	kill := l.rng.IntN(2) == 0
	for i, suffix := range []string{"", "-wal", "-shm"} {
		kept[i], _ = os.ReadFile(l.path + suffix)
	}
	if err := l.store.Shutdown(); err != nil {
		return err
	}
	if kill { // as if it had not been closed
		for i, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.WriteFile(l.path+suffix, kept[i], 0o600); err != nil {
				return err
			}
		}
	}
	m := storeFaults[l.rng.IntN(len(storeFaults))]
	l.told = append(l.told, fmt.Sprintf("%8.1f %s (log left behind: %t)", l.w.Now().Sub(began).Seconds(), m.name, kill))
	return m.do(l)
}

func (l *lives) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	if now.After(l.next) {
		if err := errors.Join(l.stopDaemon(), l.startDaemon()); err != nil {
			l.t.Fatalf("%v\n%s", err, strings.Join(l.told, "\n"))
		}
	}
	return l.now.Cycle(ctx, now)
}

func (l *lives) Stirred() bool { return l.now.Stirred() }

var began = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// Whatever fault the store has between two lives of the daemon: no job runs twice, none is
// lost, no step is trained twice, and all of them end.
func TestFaultsOfTheStore(t *testing.T) {
	seeds := 10
	if n, err := strconv.Atoi(os.Getenv("SLUICE_STORE_MUTATIONS")); err == nil {
		seeds = max(seeds, n/100)
	}
	happened, said := 0, 0
	for seed := range seeds {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: uint64(seed), Nodes: fake.Grid(3, 4)}})
		l := &lives{t: t, w: w, rng: rand.New(rand.NewPCG(uint64(seed), 9)), path: filepath.Join(inMemory(t), "state", "sluice.db")}
		for n := range 3 {
			w.At(time.Duration(l.rng.Int64N(int64(4*time.Minute))), func() {
				w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4 + 4*n, Total: 20}, Model: world.Amdahl(60, 0.05)})
			})
		}
		if err := l.startDaemon(); err != nil {
			t.Fatal(err)
		}
		over := func() bool { return w.Now().Sub(began) > 30*time.Minute && w.Over() }
		if err := w.DriveUntil(context.Background(), l, 6*time.Hour, over); err != nil {
			t.Fatal(err)
		}
		w.Advance(10 * time.Second)
		bad := slices.DeleteFunc(w.Check(), endedUnseen)
		for _, job := range w.Trainers() {
			if !job.Ended() || job.Done() < job.Job.Spec.Total {
				bad = append(bad, fmt.Sprintf("job %d has done %g of %g units", job.ID(), job.Done(), job.Job.Spec.Total))
			}
		}
		if len(bad) > 0 {
			t.Fatalf("seed %d:\n%s\n%s", seed, strings.Join(bad, "\n"), strings.Join(l.told, "\n"))
		}
		if err := l.store.Shutdown(); err != nil {
			t.Fatal(err)
		}
		happened, said = happened+len(l.told), said+l.said
	}
	t.Logf("reliability: store-faults %d", happened)
	t.Logf("reliability: store-faults-reported %d", said)
	if happened < seeds || said == 0 {
		t.Errorf("%d faults in %d seeds, %d notices", happened, seeds, said)
	}
}

// endedUnseen: a job that ended between the loss of the store and the next observation of Slurm is
// unknown to the new daemon. Only its successful end is checked.
func endedUnseen(bad string) bool {
	return strings.Contains(bad, "ended as COMPLETED, and sluiced did not log it")
}

// inMemory returns a folder that is removed with the test, in memory if possible.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "store-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
