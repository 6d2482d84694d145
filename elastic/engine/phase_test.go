package engine

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// TestStoppedJobsAreLookedAtBeforeASecond: stopped jobs are observed shortly before a full second, so
// that the begin time written for them is near.
func TestStoppedJobsAreLookedAtBeforeASecond(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	e := New(Config{Rules: track.Rules{Period: 30 * time.Second, Transition: 500 * time.Millisecond}})
	for ms := range 2000 {
		now := noon.Add(time.Duration(ms) * time.Millisecond)
		for step, asked := range map[elastic.Step]time.Time{elastic.Verified: now, elastic.Requeued: {}, elastic.Written: {}} {
			e.Open = []elastic.Intent{{Step: elastic.Asked}, {Step: step, RequeuedAt: asked}}
			wake := e.wake(now, true, false)
			if wake.Sub(wake.Truncate(time.Second)) != 750*time.Millisecond || wake.Before(now.Add(250*time.Millisecond)) || !wake.Before(now.Add(1250*time.Millisecond)) {
				t.Fatalf("R%d at %s: wakes at %s", step, now, wake)
			}
		}
	}
	for _, in := range []elastic.Intent{{Step: elastic.Intended}, {Step: elastic.Asked}, {Step: elastic.Verified}, {Step: elastic.Released}} {
		e.Open = []elastic.Intent{in}
		if got := e.wake(noon, true, false); !got.Equal(noon.Add(500 * time.Millisecond)) {
			t.Errorf("R%d: wakes at %s", in.Step, got)
		}
	}
}
