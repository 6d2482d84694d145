package whole_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/whole"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/etc"
)

// TestAnyWorkloadUnderAnyPolicy: whatever comes, under whichever policy, the
// promises of the protocol hold (Simulate checks them), every job ends, none
// earlier than its work allows, and GPU time adds up.
func TestAnyWorkloadUnderAnyPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, gpus := rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "GPUs a node")
		c := whole.Daemon()
		c.Nodes = grid(count, gpus)
		c.Policy = rapid.SampledFrom(policy.All).Draw(t, "policy")
		c.Info = rapid.SampledFrom([]replay.Info{replay.Oracle, replay.Learned}).Draw(t, "info")
		c.Limits.Preempt = rapid.Bool().Draw(t, "preempt")
		c.Hook = rapid.Bool().Draw(t, "hook")
		c.Restart = time.Duration(rapid.IntRange(0, 90).Draw(t, "restart")) * time.Second
		w := drawWorkload(t, count*gpus)
		out, err := whole.Simulate(context.Background(), c, w)
		if err != nil {
			t.Fatal(err)
		}
		useful := 0.0
		i := 0
		for j := range w.Jobs {
			got := out.Jobs[i]
			best := math.Inf(1)
			for g := 1; g <= count*gpus; g++ {
				best = min(best, j.Spec.Total*j.Speeds.Seconds([]int{g}))
			}
			if got.JCT().Seconds() < best-0.001 || got.Wait() < 0 || got.Start > got.End {
				t.Errorf("%+v: cannot end before %.0f s", got, best)
			}
			useful += got.Useful
			i++
		}
		if i != len(out.Jobs) || useful > float64(count*gpus)*out.Makespan.Seconds()+1 {
			t.Errorf("%d results for %d jobs, %.0f GPU-seconds of training in %v on %d GPUs", len(out.Jobs), i, useful, out.Makespan, count*gpus)
		}
	})
}

// drawWorkload draws a few short jobs that fit the cluster.
func drawWorkload(t *rapid.T, gpus int) workload.Workload {
	var jobs []workload.Job
	at := time.Duration(0)
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		at += time.Duration(rapid.IntRange(0, 600).Draw(t, "gap")) * time.Second
		least := rapid.IntRange(1, gpus).Draw(t, "min")
		jobs = append(jobs, workload.Job{
			Name: fmt.Sprintf("job%d", i), User: "u", Submit: at,
			Spec: elastic.Spec{
				Min: least, Max: rapid.IntRange(least, gpus).Draw(t, "max"), Total: float64(rapid.IntRange(1, 30).Draw(t, "total")),
				AllowUneven: true, Model: "m",
			},
			Asked:  least,
			Speeds: workload.Assumed{Unit: float64(rapid.IntRange(1, 120).Draw(t, "unit")), Serial: rapid.Float64Range(0, 0.5).Draw(t, "serial")},
		})
	}
	return of("drawn", jobs...)
}

// TestDaemonIsTheInstalledOne: the defaults here are those of etc/sluice.toml.
func TestDaemonIsTheInstalledOne(t *testing.T) {
	file, here := etc.Default(), whole.Daemon()
	r := file.Resize
	if want := (elastic.Price{Save: r.Save, Drain: r.Drain, Start: r.Start, Load: r.Load}); here.Price != want || here.Restart != want.Total() {
		t.Errorf("price %+v and restart %v, want %+v", here.Price, here.Restart, want)
	}
	want := elastic.Limits{Cooldown: r.Cooldown, Payback: r.Payback, Grace: r.Grace, Confirm: r.Confirm, Moves: r.Moves, DeafAfter: r.DeafAfter}
	if here.Limits != want {
		t.Errorf("limits %+v, want %+v", here.Limits, want)
	}
	if here.Interval != file.Cycle.Period || here.Transition != file.Cycle.Transition {
		t.Errorf("period %v and transition %v, want %v and %v", here.Interval, here.Transition, file.Cycle.Period, file.Cycle.Transition)
	}
}
