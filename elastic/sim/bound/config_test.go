package bound_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/bound"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"pgregory.net/rapid"
)

func TestRefusals(t *testing.T) {
	perfect := curve{60, 30}
	idle := job(0, 0, perfect)
	wide := job(0, 1, perfect)
	wide.Spec.Min = 3
	for name, tc := range map[string]struct {
		change func(*bound.Config)
		job    workload.Job
		want   string
	}{
		"no interval": {func(c *bound.Config) { c.Interval = 0 }, job(0, 1, perfect), "interval 0s"},
		"restart":     {func(c *bound.Config) { c.Restart = -1 }, job(0, 1, perfect), "restart -1ns"},
		"its restart": {func(c *bound.Config) {
			c.RestartOf = func(workload.Job) time.Duration { return -time.Second }
		}, job(0, 1, perfect), "job j: restart -1s"},
		"no nodes":     {func(c *bound.Config) { c.Nodes = nil }, job(0, 1, perfect), "without GPUs"},
		"no work":      {func(*bound.Config) {}, idle, "no work"},
		"too wide":     {func(*bound.Config) {}, wide, "at none of the sizes"},
		"never begins": {func(*bound.Config) {}, job(0, 1, curve{}), "at none of the sizes"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			tc.change(&cfg)
			_, err := bound.MeanJCT(ctx, cfg, of([]workload.Job{tc.job}))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it to say %q", err, tc.want)
			}
		})
	}
}

// TestRestartOf: a job's own price of a restart goes before that of all.
func TestRestartOf(t *testing.T) {
	jobs := []workload.Job{job(0, 10, curve{60, 30})}
	cfg := config()
	cfg.RestartOf = func(workload.Job) time.Duration { return 100 * time.Second }
	if b := meanJCT(t, cfg, jobs); (b.MeanJCT - 400*time.Second).Abs() > time.Microsecond {
		t.Errorf("bound %v, want 400 s", b.MeanJCT)
	}
}

func TestNoJobsNoBound(t *testing.T) {
	if b := meanJCT(t, config(), nil); b.MeanJCT != 0 || b.Iterations != 0 {
		t.Errorf("got %+v", b)
	}
}

func TestItCanBeStopped(t *testing.T) {
	stopped, stop := context.WithCancel(ctx)
	cfg := config()
	cfg.Progress = func(done, of int, best time.Duration) {
		if done == 2 {
			stop()
		}
	}
	_, err := bound.MeanJCT(stopped, cfg, of([]workload.Job{job(0, 10, curve{60, 30}), job(0, 10, curve{60, 30})}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestEachIterationCounts: the trace rises to the bound, Progress tells it, and the
// same input gives the same bound.
func TestEachIterationCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t, 6, 2, 10)
		cfg := config()
		var told []time.Duration
		cfg.Progress = func(done, of int, best time.Duration) {
			told = append(told, best)
			if done != len(told) || of != cfg.Iterations {
				t.Fatalf("iteration %d of %d, want %d of %d", done, of, len(told), cfg.Iterations)
			}
		}
		b := meanJCT(t, cfg, jobs)
		if !reflect.DeepEqual(told, b.Trace) || b.Iterations != len(b.Trace) || b.Iterations > cfg.Iterations {
			t.Fatalf("told %v, trace %v, %d iterations", told, b.Trace, b.Iterations)
		}
		for i, v := range b.Trace {
			if v > b.MeanJCT || i > 0 && v < b.Trace[i-1] {
				t.Fatalf("trace %v, bound %v", b.Trace, b.MeanJCT)
			}
		}
		cfg.Progress = nil
		if again := meanJCT(t, cfg, jobs); !reflect.DeepEqual(again, b) {
			t.Fatalf("%+v, and then %+v", b, again)
		}
	})
}

// TestLongTimesAreNoTrouble: work for years in rounds of a second takes longer
// slots, not more memory.
func TestLongTimesAreNoTrouble(t *testing.T) {
	cfg := config()
	cfg.Interval, cfg.Slot, cfg.Iterations = time.Second, time.Second, 5
	b := meanJCT(t, cfg, []workload.Job{job(0, 1e6, curve{60, 30}), job(time.Hour, 1e6, curve{60, 30})})
	if least := 3e7 * 1.2 * float64(time.Second); float64(b.MeanJCT) < least {
		t.Errorf("bound %v", b.MeanJCT)
	}
}
