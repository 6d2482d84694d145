package report

import (
	"encoding/json"
	"math"
	"pgregory.net/rapid"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		figure interface{ String() string }
		want   string
	}{
		{Seconds(0), "0.00"}, {Seconds(-0.001), "0.00"}, {Seconds(1234.567), "1234.57"}, {Seconds(-2), "-2.00"},
		{Hours(12.3456), "12.35"}, {Ratio(.73), "0.730"}, {Millis(0.0126), "0.013"},
		{Ratio(math.NaN()), "null"}, {Seconds(math.Inf(1)), "null"},
	} {
		if got := c.figure.String(); got != c.want {
			t.Errorf("%#v reads %s, want %s", c.figure, got, c.want)
		}
		if b, err := json.Marshal(c.figure); err != nil || string(b) != c.want {
			t.Errorf("%#v in JSON: %s, %v", c.figure, b, err)
		}
	}
}

// TestNearestRank: at least p per cent do not exceed it, and of all smaller values
// that is not true.
func TestNearestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		p := rapid.IntRange(1, 100).Draw(t, "p")
		sorted := make([]time.Duration, n)
		for i := range sorted {
			sorted[i] = time.Duration(i)
		}
		rank := int(nearestRank(sorted, p)) + 1
		if 100*rank < p*n || 100*(rank-1) >= p*n {
			t.Fatalf("p%d of %d is number %d", p, n, rank)
		}
	})
	if nearestRank(nil, 50) != 0 {
		t.Error("of nothing it is nought")
	}
}

func TestSummarise(t *testing.T) {
	s := Summarise(result("fcfs", "w", 1, 2), Setting{
		Cluster: "3x4", GPUs: 12, Seed: 7, Load: 1, Interval: time.Minute, Restart: 30 * time.Second, Placing: replay.Ours, Bound: 100 * time.Second,
	})
	// Jobs of result last 100, 200, 300 and 400 s, times two, and wait 10 s each.
	if s.MeanJCT != 500 || s.P50JCT != 400 || s.P99JCT != 800 || s.MeanWait != 10 || s.MaxWait != 10 {
		t.Errorf("times: %+v", s)
	}
	if *s.DeadlineMet != .5 || s.Restarts != 1.5 || s.Useful != 2 || *s.Bound != 100 || *s.ToBound != 5 {
		t.Errorf("others: %+v", s)
	}
	if *s.DecisionP50 != 1 || *s.DecisionP99 != 3 || *s.DecisionMax != 3 || s.Seed != 7 {
		t.Errorf("decisions: %v %v, seed %d", *s.DecisionP50, *s.DecisionP99, s.Seed)
	}
	empty := Summarise(replay.Result{}, Setting{})
	if empty.DeadlineMet != nil || empty.DecisionP50 != nil || empty.Bound != nil || empty.MeanJCT != 0 {
		t.Errorf("of nothing: %+v", empty)
	}
}

// TestOtherRules: a policy published with other rules is not shown without a warning.
func TestOtherRules(t *testing.T) {
	for set, warned := range map[Setting]bool{
		{Stops: true}: true, {Stops: true, Preempt: true}: true, {Stops: true, Preempt: true, AnySplit: true}: false, {}: false,
	} {
		var b strings.Builder
		if err := WriteTable(&b, []Run{{Summary: Summarise(result("tiresias", "w", 1, 1), set)}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\nrules: decisions in rounds; ") || strings.Contains(b.String(), "warning: tiresias: ") != warned {
			t.Errorf("%+v:\n%s", set, b.String())
		}
	}
}

func TestMean(t *testing.T) {
	half := Ratio(.5)
	m := Mean([]Summary{{Seed: 1, Jobs: 20, MeanJCT: 10, MaxWait: 5, DeadlineMet: &half}, {Seed: 2, Jobs: 20, MeanJCT: 30, MaxWait: 50}})
	if m.MeanJCT != 20 || m.MaxWait != 50 || *m.DeadlineMet != .5 || m.Jobs != 20 || m.Seed != 1 || m.Bound != nil {
		t.Errorf("%+v", m)
	}
}

// result is a run of four jobs made up so that figures can be checked by head.
func result(policy, workload string, seed uint64, slow int) replay.Result {
	r := replay.Result{
		Policy: policy, Workload: workload, Seed: seed, Info: replay.Oracle, Note: "made up", Restarts: 6,
		Makespan: time.Duration(1000*slow) * time.Second, Useful: 7200, Restarting: 360, Idle: 3600, Rounds: 9, Fragmentation: .25,
		Decisions: []time.Duration{time.Millisecond, 3 * time.Millisecond},
	}
	for i := range 4 {
		submit := time.Duration(i) * time.Minute
		r.Jobs = append(r.Jobs, replay.JobResult{
			Name: string(rune('a' + i)), Submit: submit, Start: submit + 10*time.Second,
			End: submit + time.Duration((i+1)*100*slow)*time.Second, Deadline: submit + 400*time.Second,
		})
	}
	return r
}

// runs are two policies with two seeds on one workload, and one run on another.
func runs() []Run {
	set := Setting{Cluster: "3x4", GPUs: 12, Load: 1, Interval: time.Minute, Restart: 30 * time.Second, Placing: replay.Ours}
	var out []Run
	for _, c := range []struct {
		policy, workload string
		seed             uint64
		slow             int
	}{{"fcfs", "w1", 1, 2}, {"fcfs", "w1", 2, 4}, {"knapsack", "w1", 1, 1}, {"knapsack", "w1", 2, 3}, {"fcfs", "night", 1, 1}} {
		r := result(c.policy, c.workload, c.seed, c.slow)
		if c.workload == "night" {
			for i := range r.Jobs {
				r.Jobs[i].Deadline = 0
			}
			r.Decisions = nil
		}
		s := set
		s.Seed = c.seed
		out = append(out, Run{Summary: Summarise(r, s), Spread: Spread(r.Jobs), Jobs: r.Jobs})
	}
	return out
}
