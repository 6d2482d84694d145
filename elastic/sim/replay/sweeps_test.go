package replay_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// sweepsOn replays a workload of sweeps on so many nodes of 4 GPUs.
func sweepsOn(t *testing.T, many int, policyName, text string, events func(replay.Event)) replay.Result {
	t.Helper()
	p, err := policy.ByName(policyName)
	if err != nil {
		t.Fatal(err)
	}
	s, err := workload.ReadSweeps(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Workload(1, workload.Options{GPUs: 4 * many, PerNode: 4})
	if err != nil {
		t.Fatal(err)
	}
	cfg := replay.Config{Policy: p, Interval: 20 * time.Second, Restart: 5 * time.Second, Info: replay.Oracle, Placing: replay.Ours, Limits: elastic.Limits{Payback: 2}, Events: events}
	for i := range many {
		cfg.Nodes = append(cfg.Nodes, nodes.Node{Name: string(rune('a' + i)), GPUs: 4, CPUs: 64, Usable: true})
	}
	res, err := replay.Run(t.Context(), cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSweepsBesideJobs: under policies that resize and one that does not every sweep and every job
// comes to its end, a sweep's trials are all accounted for, and never more GPUs are used than there are.
func TestSweepsBesideJobs(t *testing.T) {
	const text = "sweeps:generated:sweeps=4:trials=30:lanes=6:gap=100s:users=2:beside=w1@2m"
	for _, name := range []string{"lookahead", "knapsack", "fcfs"} {
		used, most := 0, 0
		res := sweepsOn(t, 2, name, text, func(e replay.Event) {
			used += e.To.GPUs() - e.From.GPUs()
			most = max(most, used)
		})
		if len(res.Jobs) != 20 || len(res.Sweeps) != 4 {
			t.Fatalf("%s: %d jobs, %d sweeps", name, len(res.Jobs), len(res.Sweeps))
		}
		for _, s := range res.Sweeps {
			if s.Over <= s.Submit || s.End < s.Over || s.First < s.Submit || s.Lanes < 1 || s.Lanes > 6 || s.GPUSeconds <= 0 || s.Begun > 30 || s.Goal > s.Over {
				t.Errorf("%s: %+v", name, s)
			}
		}
		for _, j := range res.Jobs {
			if j.End <= j.Submit {
				t.Errorf("%s: %+v", name, j)
			}
		}
		if used != 0 || most > 8 {
			t.Errorf("%s: %d GPUs are left in use, %d at most", name, used, most)
		}
		if again := sweepsOn(t, 2, name, text, nil); !reflect.DeepEqual(again, res) {
			t.Errorf("%s: another result the second time", name)
		}
	}
}

// TestLanesGiveWay: lanes give way to a job that waits, a sweep keeps its first one, and a sweep without
// others has every GPU.
func TestLanesGiveWay(t *testing.T) {
	res := sweepsOn(t, 1, "lookahead", "sweeps:generated:sweeps=1:trials=40:lanes=4:goal=none:beside=w4@10m", nil)
	if s := res.Sweeps[0]; s.Taken == 0 || s.Done+s.Paused != 40 || s.Goal >= 0 {
		t.Errorf("%+v", s)
	}
	alone := sweepsOn(t, 1, "lookahead", "sweeps:generated:sweeps=1:trials=40:lanes=4:goal=none", nil)
	if s := alone.Sweeps[0]; s.Taken != 0 || s.Lanes != 4 || len(alone.Jobs) != 0 || s.Over-s.Submit >= res.Sweeps[0].Over-res.Sweeps[0].Submit {
		t.Errorf("%+v", s)
	}
}
