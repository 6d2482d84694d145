package replay_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestComesCloseToHeSRPT: with all jobs submitted at the start, known sizes, a speed-up of
// n^p and free restarts, no policy beats heSRPT on divisible GPUs. Whole GPUs, rounds of
// 10 s and the allowance for unknown arrivals cost lookahead a few percent.
func TestComesCloseToHeSRPT(t *testing.T) {
	for _, c := range []struct {
		p      float64
		within float64
	}{{0.5, 0.02}, {0.8, 0.06}} {
		w, err := workload.Generate(fmt.Sprintf("power@%v", c.p), 1, workload.Options{Jobs: 12})
		if err != nil {
			t.Fatal(err)
		}
		got, best := meanOf(t, w, 64), heSRPT(w, c.p, 64)
		t.Logf("n^%v: %.0f s, heSRPT %.0f s, %.3f of it", c.p, got, best, got/best)
		if got < best*(1-1e-3) {
			t.Errorf("n^%v: %.1f s is below the least there can be, %.1f s", c.p, got, best)
		}
		if got > best*(1+c.within) {
			t.Errorf("n^%v: %.3f of heSRPT, want at most %.3f", c.p, got/best, 1+c.within)
		}
	}
}

// meanOf is the mean JCT under lookahead on nodes with 8 GPUs each, in seconds.
func meanOf(t *testing.T, w workload.Workload, gpus int) float64 {
	lookahead, err := policy.ByName("lookahead")
	if err != nil {
		t.Fatal(err)
	}
	cfg := replay.Config{
		Policy: lookahead, Interval: 10 * time.Second, Info: replay.Oracle, Placing: replay.Ours,
		Limits: elastic.Limits{Preempt: true, Placement: replay.AnySplit, ShareNodes: true},
	}
	for i := range gpus / 8 {
		cfg.Nodes = append(cfg.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 8, Usable: true})
	}
	result, err := replay.Run(context.Background(), cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, j := range result.Jobs {
		sum += j.JCT().Seconds()
	}
	return sum / float64(len(result.Jobs))
}

// heSRPT is the least mean completion time there can be: while m jobs are left, the
// i-th largest has the share (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p)) (Berg, Vesilo,
// Harchol-Balter, Performance Evaluation 144, 2020, theorem 7).
func heSRPT(w workload.Workload, p float64, gpus float64) float64 {
	var left []float64 // seconds on one GPU
	for j := range w.Jobs {
		left = append(left, j.Spec.Total*j.Speeds.Seconds([]int{1}))
	}
	slices.SortFunc(left, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	count, now, sum := float64(len(left)), 0.0, 0.0
	for m := len(left); m > 0; m-- {
		speed := func(i int) float64 { // of the i-th largest, counted from 1
			below := func(i int) float64 { return math.Pow(float64(i)/float64(m), 1/(1-p)) }
			return math.Pow((below(i)-below(i-1))*gpus, p)
		}
		span := left[m-1] / speed(m) // the smallest ends first
		for i := range left[:m] {
			left[i] -= span * speed(i+1)
		}
		now += span
		sum += now
	}
	return sum / count
}
