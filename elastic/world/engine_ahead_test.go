package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
)

// asked is a Limiter that can be asked ahead, and notes when queries begin.
type asked struct {
	slurm.Limiter
	w             *world.World
	waits         bool // an answer that was asked for ahead has not been fetched
	ahead, direct []time.Time
}

func (a *asked) Ask() bool {
	a.ahead, a.waits = append(a.ahead, a.w.Now()), true
	return true
}

func (a *asked) Limits(ctx context.Context) (slurm.Limits, error) {
	if !a.waits {
		a.direct = append(a.direct, a.w.Now())
	}
	a.waits = false
	return a.Limiter.Limits(ctx)
}

// TestLimitsAskedAheadOfAStart: an account comes back. When the borrower has saved and is stopped, the site
// is asked for its limits, so that the start on the GPUs that it leaves waits for no query. It is asked
// ahead once for that. With no job that waits it is never asked ahead.
func TestLimitsAskedAheadOfAStart(t *testing.T) {
	site := &asked{}
	w, d, _ := shared(t, func(c *engine.Config) { site.Limiter, c.Limiter = c.Limiter, site })
	site.w = w
	bob := in(w, "bio", "bob", 1)
	d.drive(t, 10*time.Minute)
	for _, pin := range []int{5, 0} { // it is stopped for each, and nothing waits for its GPUs
		d.pin(t, bob, pin)
		d.drive(t, 10*time.Minute)
	}
	d.has(t, "alone", map[*world.Trainer]int{bob: 10})
	if n := d.of(t, bob).Job.Restarts; n != 2 {
		t.Errorf("resized %d times, want 2", n)
	}
	if len(site.ahead) > 0 {
		t.Errorf("asked ahead at %v though no job waited", site.ahead)
	}
	site.direct = nil
	d.log.Reset()
	ann := in(w, "phys", "ann", 6)
	came := w.Now()
	d.drive(t, time.Minute)
	d.has(t, "60:40", map[*world.Trainer]int{bob: 4, ann: 6})
	began := d.of(t, ann).Record.FirstRun
	if len(site.ahead) != 1 || !site.ahead[0].After(came) || !site.ahead[0].Before(began) {
		t.Fatalf("asked ahead at %v; the job came at %s and began at %s\n%s", site.ahead, came, began, d.log.String())
	}
	for _, at := range site.direct {
		if !at.Before(site.ahead[0]) && at.Before(began) {
			t.Errorf("stopped at %s, asked at %s, started at %s", site.ahead[0], at, began)
		}
	}
	if n := strings.Count(d.log.String(), "for the first time"); n != 1 {
		t.Errorf("%d first starts:\n%s", n, d.log.String())
	}
}
