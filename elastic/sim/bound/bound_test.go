package bound_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/bound"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
	"pgregory.net/rapid"
)

var ctx = context.Background()

// curve is seconds a unit by number of GPUs, from one up; comparable.
type curve [4]float64

func (c curve) Seconds(split []int) float64 {
	n := 0
	for _, g := range split {
		n += g
	}
	if n > len(c) || c[n-1] <= 0 {
		return math.Inf(1)
	}
	return c[n-1]
}

func cluster(count, gpus int) []nodes.Node {
	out := make([]nodes.Node, count)
	for i := range out {
		out[i] = nodes.Node{Name: fmt.Sprintf("n%02d", i), GPUs: gpus, Usable: true}
	}
	return out
}

func of(jobs []workload.Job) workload.Workload {
	return workload.Workload{Name: "made-up", Count: len(jobs), Jobs: slices.Values(jobs)}
}

func job(submit time.Duration, units float64, speeds workload.Speeds) workload.Job {
	return workload.Job{
		Name: "j", Submit: submit, Speeds: speeds,
		Spec: elastic.Spec{Min: 1, Total: units, Model: "m", AllowUneven: true},
	}
}

func config() bound.Config {
	return bound.Config{Nodes: cluster(1, 2), Interval: time.Minute, Restart: 30 * time.Second, Iterations: 60}
}

func meanJCT(t rapid.TB, cfg bound.Config, jobs []workload.Job) bound.Bound {
	t.Helper()
	b, err := bound.MeanJCT(ctx, cfg, of(jobs))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestByHand: where the optimum is known, the bound is it, or close below.
func TestByHand(t *testing.T) {
	twice := curve{60, 30} // seconds on 1 and 2 GPUs
	for name, tc := range map[string]struct {
		jobs []workload.Job
		best time.Duration // mean JCT of the best schedule
	}{
		// Seen at 60 s, restarts for 30 s, ten units of 30 s.
		"alone": {[]workload.Job{job(10*time.Second, 10, twice)}, 50*time.Second + 330*time.Second},
		// One after the other on both GPUs: 330 s, and from the round at 360 s on 690 s.
		"two": {[]workload.Job{job(0, 10, twice), job(0, 10, twice)}, 510 * time.Second},
		// More GPUs do not help: side by side.
		"flat": {[]workload.Job{job(0, 10, curve{60, 60}), job(0, 10, curve{60, 60})}, 630 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := meanJCT(t, config(), tc.jobs)
			if b.MeanJCT > tc.best || float64(b.MeanJCT) < 0.9*float64(tc.best) {
				t.Errorf("bound %v, best schedule %v", b.MeanJCT, tc.best)
			}
			if b.MeanJCT < b.Alone || b.MeanJCT < b.Machine {
				t.Errorf("bound %v is below the weaker ones, %v and %v", b.MeanJCT, b.Alone, b.Machine)
			}
		})
	}
}

// TestWeakerBoundsByHand: two jobs of 600 GPU-seconds and a restart of 30 on two
// GPUs, and one that comes later and is shorter.
func TestWeakerBoundsByHand(t *testing.T) {
	twice := curve{60, 30}
	b := meanJCT(t, config(), []workload.Job{job(0, 10, twice), job(0, 10, twice), job(61*time.Second, 1, twice)})
	// Alone: 330 s twice, and 59 s of waiting, 30 of restart, 30 of work.
	if want := (330 + 330 + 119) * time.Second / 3; (b.Alone - want).Abs() > time.Microsecond {
		t.Errorf("alone %v, want %v", b.Alone, want)
	}
	// The machine does 315 s, 45 s from 120 on, 315 s: ends at 360, 165, 675.
	if want := (360 + 675 + 104) * time.Second / 3; (b.Machine - want).Abs() > time.Microsecond {
		t.Errorf("machine %v, want %v", b.Machine, want)
	}
}

// drawJobs draws a few jobs that end within a few rounds on two GPUs.
func drawJobs(t *rapid.T, most, gpus, rounds int) []workload.Job {
	var jobs []workload.Job
	submit := time.Duration(0)
	for range rapid.IntRange(1, most).Draw(t, "jobs") {
		submit += time.Duration(rapid.IntRange(0, 90).Draw(t, "gap")) * time.Second
		var c curve
		c[0] = 60
		for n := 1; n < gpus; n++ { // not always faster
			c[n] = c[n-1] * rapid.Float64Range(0.5, 1.1).Draw(t, "ratio")
		}
		units := rapid.Float64Range(0.1, float64(rounds)).Draw(t, "units")
		j := job(submit, units, c)
		j.Spec.Max = gpus
		if gpus > 1 && rapid.IntRange(0, 4).Draw(t, "wide") == 0 {
			j.Spec.Min = 2
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// TestNeverAboveTheOptimum compares with all schedules there are.
func TestNeverAboveTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config()
		cfg.Restart = time.Duration(rapid.SampledFrom([]int{0, 10, 30, 60, 90}).Draw(t, "restart")) * time.Second
		cfg.Keep = rapid.Bool().Draw(t, "keep")
		cfg.Prompt = rapid.Bool().Draw(t, "prompt")
		if rapid.IntRange(0, 3).Draw(t, "coarse") == 0 {
			cfg.Slot = 3 * time.Minute
		}
		jobs := drawJobs(t, 3, 2, 2)
		b := meanJCT(t, cfg, jobs)
		best := optimum(cfg, 2, jobs)
		if b.MeanJCT > best {
			t.Fatalf("bound %v, and a schedule has %v", b.MeanJCT, best)
		}
		if len(jobs) == 1 && cfg.Slot == 0 && float64(b.MeanJCT) < 0.98*float64(best) {
			t.Fatalf("bound %v for a single job that needs %v", b.MeanJCT, best)
		}
	})
}

// TestNeverAboveAPolicy compares with the policies there are, on clusters of
// several nodes.
func TestNeverAboveAPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 3).Draw(t, "nodes")
		inventory := cluster(count, 2)
		jobs := drawJobs(t, 8, min(4, 2*count), 20)
		restart := time.Duration(rapid.IntRange(0, 50).Draw(t, "restart")) * time.Second
		cfg := bound.Config{Nodes: inventory, Interval: time.Minute, Restart: restart, Iterations: 30}
		free := meanJCT(t, cfg, jobs)
		cfg.Keep = true
		keep := meanJCT(t, cfg, jobs)
		cfg.Prompt = true
		prompt := meanJCT(t, cfg, jobs)
		p := rapid.SampledFrom(policy.All).Draw(t, "policy")
		for _, preempt := range []bool{false, true} {
			r, err := replay.Run(ctx, replay.Config{
				Nodes: inventory, Policy: p, Interval: time.Minute, Restart: restart, Info: replay.Oracle,
				Limits: elastic.Limits{Preempt: preempt, Placement: replay.AnySplit},
			}, of(jobs))
			if err != nil {
				t.Skip("a policy that leaves a job waiting for ever: ", err)
			}
			got := mean(r)
			if free.MeanJCT > got {
				t.Fatalf("%s reaches %v, the bound is %v", p.Name, got, free.MeanJCT)
			}
			if preempt {
				continue
			}
			if keep.MeanJCT > got {
				t.Fatalf("%s without preemption reaches %v, the bound is %v", p.Name, got, keep.MeanJCT)
			}
			if prompt.MeanJCT > got && longestWait(r) < time.Minute {
				t.Fatalf("%s without preemption and waits reaches %v, the bound is %v", p.Name, got, prompt.MeanJCT)
			}
		}
	})
}

func mean(r replay.Result) time.Duration {
	sum := time.Duration(0)
	for _, j := range r.Jobs {
		sum += j.JCT()
	}
	return sum / time.Duration(len(r.Jobs))
}

func longestWait(r replay.Result) time.Duration {
	most := time.Duration(0)
	for _, j := range r.Jobs {
		most = max(most, j.Wait())
	}
	return most
}
