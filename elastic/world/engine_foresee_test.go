package world_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// foretelling projects the last observation forward after every cycle, while the next cycles run.
type foretelling struct {
	*daemon
	all  sync.WaitGroup
	mu   sync.Mutex
	told []forecast.Projection
}

func (f *foretelling) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	wake, err := f.daemon.Cycle(ctx, now)
	if out, ok := engine.Foresee(f.Engine, now); ok {
		f.all.Go(func() {
			p := forecast.Project(ctx, out.Snapshot, out.Decide, forecast.Usual)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.told = append(f.told, p)
		})
	}
	return wake, err
}

// TestForecastBesideCycles: forecasts are made while cycles go on (the race detector watches), and once the
// speeds are known they name the ends that the jobs then have.
func TestForecastBesideCycles(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4)}})
	d := &foretelling{daemon: boot(t, w, new(journal.Memory), "lookahead")}
	spec := func(total float64) elastic.Spec { return elastic.Spec{Min: 1, Max: 4, Total: total, Model: "m"} }
	for i := range 4 {
		w.Submit(world.Job{User: "ann", Spec: spec(float64(100 + 50*i)), Model: world.Amdahl(20, 0.05)})
	}
	ended := map[elastic.JobID]time.Time{}
	_ = w.DriveUntil(context.Background(), d, 12*time.Hour, func() bool {
		for _, jr := range d.Report().Jobs {
			if _, known := ended[jr.Record.ID]; jr.Ended && !known {
				ended[jr.Record.ID] = jr.Record.Ended
			}
		}
		return len(ended) == 4
	})
	d.all.Wait()
	if len(ended) != 4 {
		t.Fatalf("%d of 4 jobs ended", len(ended))
	}
	checked, wrong := 0, 0.0
	for _, p := range d.told {
		for _, j := range p.Jobs {
			left := ended[j.ID].Sub(p.At).Seconds()
			if j.Ends.IsZero() || j.Sure < 0.5 || left < 120 {
				continue
			}
			checked++
			wrong += math.Abs(j.Ends.Sub(ended[j.ID]).Seconds()) / left
		}
	}
	if checked < 20 || wrong/float64(checked) > 0.25 {
		t.Errorf("%d ends of %d forecasts, wrong by %.0f %% of the time left on average", checked, len(d.told), 100*wrong/float64(max(1, checked)))
	}
	t.Logf("%d ends of %d forecasts, wrong by %.1f %% of the time left on average", checked, len(d.told), 100*wrong/float64(max(1, checked)))
}
