package replay

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestTwoTypes: a job is as fast as its model is on the type it runs on, its GPUs cost
// what that type costs, and a policy that learns hears of which type it was.
func TestTwoTypes(t *testing.T) {
	jobs := []workload.Job{
		{Name: "first", Spec: elastic.Spec{Min: 1, Max: 1, Total: 100, Model: "m"}, Speeds: workload.Parametric{One: 60}},
		{Name: "second", Submit: time.Second, Spec: elastic.Spec{Min: 1, Max: 1, Total: 100, Model: "m"}, Speeds: workload.Parametric{One: 60}},
	}
	fcfs, err := policy.ByName("fcfs")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	watched := fcfs
	watched.OnEvents = false
	watched.Allocate = func(s elastic.Snapshot) elastic.Allocation {
		for _, j := range s.Jobs {
			for _, kind := range []string{"fast", "slow"} {
				if j.Curve.Observed(kind) > 0 && !slices.Contains(seen, kind) {
					seen = append(seen, kind)
				}
			}
		}
		return fcfs.Allocate(s)
	}
	cfg := Config{
		Nodes:    []nodes.Node{{Name: "n1", GPUs: 1, Type: "fast", Usable: true}, {Name: "n2", GPUs: 1, Type: "slow", Usable: true}},
		Interval: time.Minute, Info: Learned, Placing: Ours, Policy: watched,
		Faster: func(model, kind string) float64 { return map[string]float64{"fast": 2, "slow": 0.5}[kind] },
		Limits: elastic.Limits{Costs: &elastic.Costs{Value: 1, Types: map[string]float64{"fast": .5, "slow": .25}}},
	}
	got, err := Run(context.Background(), cfg, workload.Workload{Name: "two", Count: 2, Jobs: slices.Values(jobs)})
	if err != nil {
		t.Fatal(err)
	}
	fast, slow := got.Jobs[0], got.Jobs[1]
	if took := (fast.End - fast.Start).Seconds(); took != 3000 {
		t.Errorf("on the fast type it took %v s, want 3000", took)
	}
	if took := (slow.End - slow.Start).Seconds(); took != 12000 {
		t.Errorf("on the slow type it took %v s, want 12000", took)
	}
	if w := 3000. / 3600; fast.Worth != w || slow.Worth != w {
		t.Errorf("worth %v and %v, want %v", fast.Worth, slow.Worth, w)
	}
	if c, d := fast.Cost-.5*3000/3600, slow.Cost-.25*12000/3600; c > 1e-9 || c < -1e-9 || d > 1e-9 || d < -1e-9 {
		t.Errorf("costs %v and %v", fast.Cost, slow.Cost)
	}
	if len(seen) != 2 {
		t.Errorf("learned of %v", seen)
	}
}
