package admission

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// TestJudgedEnds: an admitted job ends by its deadline or earlier, at the size that the plan gives it now.
// The end of another one is never in the past, however much work it declares.
func TestJudgedEnds(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	job := deadline.Job{Work: 100, Sizes: []int{0, 1, 2}, Rate: []float64{0, 1, 4}, Due: 80}
	for _, c := range []struct {
		name     string
		promised bool
		gpus     int
		soonest  float64
		want     time.Time
	}{
		{"admitted, on its largest size", true, 2, 0, now.Add(25 * time.Second)},
		{"admitted, to grow later", true, 1, 0, now.Add(80 * time.Second)},
		{"admitted, to start later", true, 0, 0, now.Add(80 * time.Second)},
		{"not admitted", false, 0, 90, now.Add(90 * time.Second)},
		{"not admitted, of unknown length", false, 0, math.Inf(1), time.Time{}},
		{"without a deadline", false, 0, 0, time.Time{}},
		{"longer than a Duration can hold", false, 0, 1e15, now.Add(100 * 365 * 24 * time.Hour)},
	} {
		plan := deadline.Plan{Promised: []bool{c.promised}, GPUs: []int{c.gpus}, Soonest: []float64{c.soonest}}
		said := Rules{Snap: elastic.Snapshot{Now: now}}.Judge(&roles.Subject{Job: elastic.Job{}}, job, plan, 0)
		if !said.Ends.Equal(c.want) || said.Promised != c.promised {
			t.Errorf("%s: ends at %v, want %v", c.name, said.Ends, c.want)
		}
	}
}
