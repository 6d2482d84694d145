package world_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	policies "github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// telling is a daemon whose report is logged after every cycle.
type telling struct {
	*mortal
	to *strings.Builder
}

func (d telling) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	wake, err := d.mortal.Cycle(ctx, now)
	fmt.Fprintln(d.to, now.UnixNano(), wake.UnixNano(), err)
	if r := d.now.Report(); r != nil {
		fmt.Fprintln(d.to, r.Blind, r.Nodes, r.Demands, r.Health)
		for _, j := range r.Jobs {
			fmt.Fprintf(d.to, "%d %v %q %q %q %v\n", j.Record.ID, j.Target, sentence(j.Why), j.Problems, sentence(j.Last), j.ETA)
		}
	}
	return wake, err
}

// told plays a scenario with everything that depends on an order: many jobs submitted at once, a crash, a
// node failure, unreadable files. It returns every event with its time in nanoseconds, and the
// report after every cycle.
func told(t *testing.T, seed uint64, policy string) (events, reports string) {
	t.Helper()
	var e, r strings.Builder
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: seed, Nodes: fake.Grid(3, 4), Jitter: time.Second}})
	d := newMortal(t, w, &boundaries{kill: map[int]bool{40: true}}, func(c *engine.Config) {
		tell := c.Events
		c.Events = func(x event.Event) {
			fmt.Fprintln(&e, x.At.UnixNano(), x.Job, x.Kind, x.Text)
			tell(x)
		}
		p, err := policies.ByName(policy)
		if err != nil {
			t.Fatal(err)
		}
		c.Policy = p
	})
	for n := range 4 {
		w.At(time.Duration(n/2)*3*time.Minute, func() {
			w.Submit(world.Job{User: []string{"alice", "bob"}[n%2], Spec: elastic.Spec{Min: 1, Max: 2 + 3*n, Total: 10 + float64(n)}, Model: world.Amdahl(60, 0.05), Every: 1})
		})
	}
	w.At(5*time.Minute, func() { w.Slurm.NodeDown("gpu2", "smoke") })
	w.At(8*time.Minute, func() { w.Slurm.NodeReturn("gpu2") })
	began := w.Now()
	w.Mail.Fault = func(op, _ string) error {
		if at := w.Now().Sub(began); at > 4*time.Minute && at < 7*time.Minute && (op == "runner" || op == "progress") {
			return errors.New(op + ": stale file handle")
		}
		return nil
	}
	if err := w.Drive(context.Background(), telling{d, &r}, 30*time.Minute); err != nil {
		t.Error(err)
	}
	return e.String(), r.String()
}

// TestEventsAreTheSame: I9, the same trace and seed give the same log, byte by byte, and the same
// reports, with policies that move jobs often.
func TestEventsAreTheSame(t *testing.T) {
	for _, policy := range []string{"knapsack", "optimus"} {
		events, reports := told(t, 5, policy)
		again, after := told(t, 5, policy)
		differ(t, policy+": events", events, again)
		differ(t, policy+": reports", reports, after)
		if !strings.Contains(events, " open resize") || !strings.Contains(reports, "stale file handle") {
			t.Errorf("%s: too little happened:\n%s", policy, events)
		}
	}
}

// differ reports the first line in which two logs differ.
func differ(t *testing.T, what, one, two string) {
	t.Helper()
	a, b := strings.Split(one, "\n"), strings.Split(two, "\n")
	for n := range min(len(a), len(b)) {
		if a[n] != b[n] {
			t.Errorf("I9 %s differ in line %d:\n%s\n%s", what, n+1, a[n], b[n])
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("I9 %s: %d lines and %d", what, len(a), len(b))
	}
}
