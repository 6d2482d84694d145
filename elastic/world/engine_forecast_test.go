package world_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// foreseer requests a forecast before every cycle.
type foreseer struct {
	*daemon
	asked    func(engine.Forecast, time.Time)
	returned func()
}

func (f *foreseer) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	before, forecast, ok := f.Plan(now.Add(-time.Second))
	if ok {
		f.asked(forecast, now)
	}
	wake, err := f.daemon.Cycle(ctx, now)
	if after, _, again := f.Plan(now); ok && again && unchanged(before, after) {
		f.returned()
	}
	return wake, err
}

// unchanged reports whether two snapshots are the same apart from elapsed time.
func unchanged(a, b elastic.Snapshot) bool {
	return len(a.Demands) == len(b.Demands) && len(a.Tenants) == len(b.Tenants) && slices.EqualFunc(a.Jobs, b.Jobs, func(a, b elastic.Job) bool {
		return a.ID == b.ID && a.Phase == b.Phase && a.Place.Equal(b.Place)
	})
}

// TestPlanIsJudgedAtTheNextCycle: a move that an undisturbed cycle opens for a job that ran before was in
// the forecast 1 s earlier. A move that waited for a cooldown was forecast with the cooldown's end.
func TestPlanIsJudgedAtTheNextCycle(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	var opened, foretold []elastic.Intent
	var due time.Time
	later := map[elastic.JobID]time.Time{} // the ends of cooldowns in forecasts
	resizes, postponed := 0, 0
	d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) {
		c.Limits.Cooldown = 100 * time.Second
		was := c.Events
		c.Events = func(e event.Event) {
			if e.Kind == "open" {
				opened = append(opened, elastic.Intent{Job: e.Job, Cause: reason.Text{Text: e.Text}})
			}
			was(e)
		}
	})
	f := &foreseer{daemon: d}
	f.asked = func(forecast engine.Forecast, now time.Time) {
		due, foretold, opened = forecast.At, forecast.Plan.Open, nil
		for _, p := range forecast.Later {
			if !p.Until.After(forecast.At) {
				t.Errorf("job %d waits for a cooldown that ended %v before the next cycle", p.Intent.Job, forecast.At.Sub(p.Until))
			}
			later[p.Intent.Job] = p.Until
		}
		if due.Before(now.Add(-time.Second)) {
			t.Errorf("judged at %v, asked at %v", due, now)
		}
	}
	f.returned = func() {
		for _, in := range opened {
			if !strings.HasPrefix(sentence(in.Cause), "resize") || !due.Equal(w.Now()) {
				continue // an early cycle sees what the forecast could not
			}
			resizes++
			if until, named := later[in.Job]; named && !until.After(w.Now()) {
				postponed++
			}
			found := false
			for _, said := range foretold {
				found = found || said.Job == in.Job
			}
			if !found {
				t.Errorf("at %v job %d: %s; nothing was said of it", w.Now(), in.Job, sentence(in.Cause))
			}
		}
	}
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 12, Total: 60}, Model: world.Amdahl(60, 0.05)})
	for i := range 6 {
		w.At(time.Duration(5+4*i)*time.Minute+time.Duration(7*i)*time.Second, func() {
			w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 4, Total: 1}, Model: world.Amdahl(30, 0.05)})
		})
	}
	if err := w.Drive(context.Background(), f, time.Hour); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d resizes in undisturbed cycles, %d after a cooldown that was forecast", resizes, postponed)
	if resizes == 0 || postponed == 0 {
		t.Errorf("%d resizes, %d after a cooldown", resizes, postponed)
	}
}

// TestPlansAreJudgedOnceALook: a forecast costs as much as a decision, and any user may request it. It is
// made once for each report and change of the configuration, and at most once a second if the next
// cycle is late.
func TestPlansAreJudgedOnceALook(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 600}})
	decisions := 0
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		allocate := c.Policy.Allocate
		c.Policy.Allocate = func(s elastic.Snapshot) elastic.Allocation {
			decisions++
			return allocate(s)
		}
	})
	d.drive(t, time.Minute)
	asks := func(at time.Time) int {
		was := decisions
		for range 50 {
			if _, _, ok := d.Plan(at); !ok {
				t.Fatal("no plan")
			}
		}
		return decisions - was
	}
	if n := asks(w.Now()); n < 1 || n > 2 { // 2: a second one without cooldowns
		t.Errorf("50 questions cost %d decisions", n)
	}
	if n := asks(w.Now()); n != 0 {
		t.Errorf("50 more cost %d", n)
	}
	d.Reconfigure(func(*engine.Config) {})
	if n := asks(w.Now()); n == 0 {
		t.Error("new settings change no plan")
	}
	d.drive(t, time.Minute)
	if n := asks(w.Now()); n == 0 {
		t.Error("a new look changes no plan")
	}
	if n := asks(w.Now().Add(time.Hour)); n == 0 {
		t.Error("an hour later it is the same plan")
	}
}
