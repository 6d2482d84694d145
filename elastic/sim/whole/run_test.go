package whole_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/whole"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// grid is a cluster at rest.
func grid(n, gpus int) []nodes.Node {
	out := make([]nodes.Node, n)
	for i := range out {
		out[i] = nodes.Node{Name: fmt.Sprintf("gpu%d", i+1), GPUs: gpus, Usable: true, CPUs: 64, MemoryMB: 256_000, Partitions: []string{"gpu"}}
	}
	return out
}

// of makes a workload of a list.
func of(name string, jobs ...workload.Job) workload.Workload {
	return workload.Workload{Name: name, Count: len(jobs), Jobs: slices.Values(jobs)}
}

// mixed draws jobs of 10 to 150 minutes on one GPU, a minute a unit, that come at
// random, a quarter of an hour apart on average.
func mixed(seed uint64, count int) workload.Workload {
	rng := rand.New(rand.NewPCG(seed, 1))
	var jobs []workload.Job
	at := time.Duration(0)
	for i := range count {
		at += time.Duration(rng.ExpFloat64() * float64(15*time.Minute))
		jobs = append(jobs, workload.Job{
			Name: fmt.Sprintf("job%d", i), Submit: at.Truncate(time.Millisecond),
			Spec:   elastic.Spec{Min: 1, Max: 12, Total: 10 + float64(rng.IntN(140)), Model: fmt.Sprintf("m%d", rng.IntN(4))},
			Speeds: workload.Assumed{Unit: 60, Serial: 0.02 + 0.03*float64(rng.IntN(4)), PerNode: 0.05},
		})
	}
	return of("mixed", jobs...)
}

func config(t *testing.T, policyName string) whole.Config {
	t.Helper()
	p, err := policy.ByName(policyName)
	if err != nil {
		t.Fatal(err)
	}
	c := whole.Daemon()
	c.Nodes, c.Policy, c.Price = grid(3, 4), p, elastic.Price{}
	return c
}

func run(t *testing.T, c whole.Config, w workload.Workload) whole.Outcome {
	t.Helper()
	out, err := whole.Simulate(context.Background(), c, w)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func meanJCT(jobs []replay.JobResult) float64 {
	sum := 0.0
	for _, j := range jobs {
		sum += j.JCT().Seconds()
	}
	return sum / float64(len(jobs))
}

// A job alone takes the start, and its work at full size.
func TestOneJobAlone(t *testing.T) {
	c := config(t, "ef")
	c.Info = replay.Oracle
	out := run(t, c, of("one", workload.Job{
		Name: "alone", Submit: time.Minute, Spec: elastic.Spec{Min: 1, Max: 4, Total: 10}, Speeds: workload.Assumed{Unit: 60},
	}))
	j := out.Jobs[0]
	if got := j.JCT() - 150*time.Second; got < 20*time.Second || got > 30*time.Second {
		t.Errorf("JCT %v: want the work's 150 s and a restart of 25 s", j.JCT())
	}
	if j.Wait() > 3*time.Second || j.Restarts != 0 || j.Useful < 599 || j.Useful > 601 {
		t.Errorf("got %+v: want an early start, no restart and 600 GPU-seconds", j)
	}
	if out.Makespan != j.JCT() || out.Policy != "ef" || out.Workload != "one" {
		t.Errorf("got %+v", out.Result)
	}
}

// GPU time adds up to the cluster's.
func TestGPUTimeAddsUp(t *testing.T) {
	out := run(t, config(t, "knapsack"), mixed(3, 12))
	held := 0.0
	for _, j := range out.Jobs {
		held += j.Useful + j.Restarting
	}
	if total := 12 * out.Makespan.Seconds(); held+out.Idle < total-30 || held+out.Idle > total+30 {
		t.Errorf("%.0f GPU-seconds with jobs and %.0f idle: want %.0f in all", held, out.Idle, total)
	}
	if out.Restarts == 0 || out.Moves != out.Restarts || out.Price.Total() < 20*time.Second || out.Price.Total() > 32*time.Second {
		t.Errorf("%d restarts, %d moves of %v: want some, each of about 25 s", out.Restarts, out.Moves, out.Price)
	}
}

func TestSameInputSameResult(t *testing.T) {
	tell := func() (replay.Result, string) {
		var log strings.Builder
		c := config(t, "knapsack")
		c.Events = func(e replay.Event) { fmt.Fprintln(&log, e) }
		return run(t, c, mixed(5, 10)).Result, log.String()
	}
	a, logA := tell()
	b, logB := tell()
	if !reflect.DeepEqual(a, b) || logA != logB {
		t.Errorf("two runs differ:\n%+v\n%+v", a, b)
	}
	for _, want := range []string{"submit", "start", "resize", "end"} {
		if !strings.Contains(logA, " "+want+" ") {
			t.Errorf("no event %q in\n%s", want, logA)
		}
	}
}

// TestAgreesWithReplay: with the same figure for a restart, the same limits and
// the same information, the whole protocol and a replay in rounds give the same
// mean completion time. What remains: a submit wakes the daemon, while a replay
// sees it at its next round, half an interval later on average; a first start
// costs a replay the whole restart, and a job here what loading costs; and from
// there each run takes decisions of its own, which differ either way.
func TestAgreesWithReplay(t *testing.T) {
	for _, tc := range []struct {
		policy    string
		info      replay.Info
		workloads []string
		tolerance float64
	}{
		{"fcfs", replay.Oracle, []string{"w1"}, 0.01},
		{"ef", replay.Learned, []string{"w2"}, 0.02},
		{"knapsack", replay.Oracle, []string{"w1", "w3"}, 0.05},
		{"knapsack", replay.Learned, []string{"w2", "w4"}, 0.05},
	} {
		var ours, theirs float64
		for _, name := range tc.workloads {
			w, err := workload.Generate(name, 1, workload.Options{Jobs: 10})
			if err != nil {
				t.Fatal(err)
			}
			c := config(t, tc.policy)
			c.Info, c.Interval, c.Restart = tc.info, 10*time.Second, 10*time.Second
			a := run(t, c, w)
			b, err := replay.Run(context.Background(), c.Config, w)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %s %s: %.0f s whole, %.0f s in a replay", tc.policy, tc.info, name, meanJCT(a.Jobs), meanJCT(b.Jobs))
			ours, theirs = ours+meanJCT(a.Jobs)/meanJCT(b.Jobs), theirs+1
		}
		if off := math.Abs(ours/theirs - 1); off > tc.tolerance {
			t.Errorf("%s %s on %v: mean JCT is %.3f times that of a replay: want them within %g%%", tc.policy, tc.info, tc.workloads, ours/theirs, 100*tc.tolerance)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := workload.Job{Name: "j", Spec: elastic.Spec{Min: 1, Max: 4, Total: 10}, Speeds: workload.Assumed{Unit: 60}}
	only := func(change func(*workload.Job)) workload.Workload {
		j := good
		change(&j)
		return of("w", j)
	}
	tests := map[string]struct {
		config func(*whole.Config)
		jobs   workload.Workload
		want   string
	}{
		"no nodes":       {config: func(c *whole.Config) { c.Nodes = nil }, want: "without nodes"},
		"busy node":      {config: func(c *whole.Config) { c.Nodes[0].Used = 1 }, want: "gpu1"},
		"twins":          {config: func(c *whole.Config) { c.Nodes[0].Name = "gpu2" }, want: `"gpu2"`},
		"no interval":    {config: func(c *whole.Config) { c.Interval = 0 }, want: "interval"},
		"placing":        {config: func(c *whole.Config) { c.Placing = replay.Published }, want: "placing"},
		"any split":      {config: func(c *whole.Config) { c.Limits.Placement = replay.AnySplit }, want: "any split"},
		"info":           {config: func(c *whole.Config) { c.Info = "some" }, want: "info"},
		"policy":         {config: func(c *whole.Config) { c.Policy = policy.Policy{} }, want: "policy"},
		"no work":        {jobs: only(func(j *workload.Job) { j.Spec.Total = 0 }), want: "no work"},
		"bad spec":       {jobs: only(func(j *workload.Job) { j.Spec.Model = "a b" }), want: "--model"},
		"too large":      {jobs: only(func(j *workload.Job) { j.Spec.Min, j.Spec.Max = 13, 13 }), want: "13 GPUs"},
		"no speed":       {jobs: only(func(j *workload.Job) { j.Speeds = nowhere(1) }), want: "its minimum of 1 GPUs"},
		"not at 4 GPUs":  {jobs: only(func(j *workload.Job) { j.Speeds = nowhere(4) }), want: "its sizes should exclude that"},
		"endless":        {jobs: only(func(j *workload.Job) { j.Spec.Total = 1e9 }), want: "below 1e+07 s"},
		"order reversed": {jobs: of("w", workload.Job{Submit: time.Hour, Spec: good.Spec, Speeds: good.Speeds}, good), want: "comes before"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, w := config(t, "ef"), tc.jobs
			if tc.config != nil {
				tc.config(&c)
			}
			if w.Jobs == nil {
				w = of("w", good)
			}
			if _, err := whole.Run(context.Background(), c, w); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it to name %s", err, tc.want)
			}
		})
	}
}

// nowhere is a job that cannot run on so many GPUs.
type nowhere int

func (n nowhere) Seconds(split []int) float64 {
	gpus := 0
	for _, g := range split {
		gpus += g
	}
	if gpus == int(n) {
		return math.Inf(1)
	}
	return 60 / float64(gpus)
}

// A simulation whose policy starts no job ends with an error.
func TestGivesUp(t *testing.T) {
	c := config(t, "ef")
	c.Interval = time.Hour
	c.Policy = policy.Policy{Name: "none", Allocate: func(elastic.Snapshot) elastic.Allocation { return nil }}
	_, err := whole.Run(context.Background(), c, mixed(1, 2))
	if err == nil || !strings.Contains(err.Error(), "job0 (PENDING") {
		t.Errorf("got %v, want it to name what waits", err)
	}
}

func TestContextEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := whole.Run(ctx, config(t, "ef"), mixed(1, 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The split reaches the speeds: a job that runs well packed only.
func TestSpeedDependsOnTheSplit(t *testing.T) {
	c := config(t, "ef")
	c.Nodes = grid(2, 2)
	out := run(t, c, of("split", workload.Job{Name: "j", Spec: elastic.Spec{Min: 3, Max: 3, AllowUneven: true, Total: 10}, Speeds: bySplit{}}))
	if got := out.Jobs[0].JCT().Seconds(); got < 100 || got > 130 {
		t.Errorf("JCT %.0f s: want ten units of 10 s on 2 and 1 GPUs, and a start", got)
	}
}

type bySplit struct{}

func (bySplit) Seconds(split []int) float64 {
	if slices.Equal(split, []int{2, 1}) {
		return 10
	}
	return 1000
}

// A job that is parked for another one gives the same events as in a replay.
func TestStopIsTold(t *testing.T) {
	c := config(t, "srpt")
	c.Nodes, c.Info, c.Limits.Preempt, c.Limits.Cooldown = grid(1, 1), replay.Oracle, true, 0
	var kinds []string
	c.Events = func(e replay.Event) {
		if e.Name == "long" {
			kinds = append(kinds, e.Kind)
		}
	}
	one := elastic.Spec{Min: 1, Max: 1, Total: 10}
	out := run(t, c, of("two",
		workload.Job{Name: "long", Spec: one, Asked: 1, Speeds: workload.Assumed{Unit: 300}},
		workload.Job{Name: "short", Spec: one, Asked: 1, Speeds: workload.Assumed{Unit: 20}, Submit: 10 * time.Minute},
	))
	if got, want := strings.Join(kinds, " "), "submit start stop start end"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if j := out.Jobs[1]; j.JCT() > 5*time.Minute || out.Restarts != 1 {
		t.Errorf("%+v: want it to go first; %d restarts", j, out.Restarts)
	}
}

// A job with a price of its own pays it.
func TestPriceOfEachJob(t *testing.T) {
	c := config(t, "fcfs")
	c.RestartOf = func(j workload.Job) time.Duration {
		if j.Name == "heavy" {
			return 2 * time.Minute
		}
		return 20 * time.Second
	}
	spec := elastic.Spec{Min: 1, Max: 1, Total: 10}
	out := run(t, c, of("two",
		workload.Job{Name: "heavy", Spec: spec, Speeds: workload.Assumed{Unit: 60}},
		workload.Job{Name: "light", Spec: spec, Speeds: workload.Assumed{Unit: 60}},
	))
	if got := out.Jobs[0].JCT() - out.Jobs[1].JCT(); got < 95*time.Second || got > 105*time.Second {
		t.Errorf("the heavy job takes %v longer, want about 100 s", got)
	}
}
