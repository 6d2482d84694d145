package policy_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawLanes draws a cluster with sweeps and other jobs.
func drawLanes(t *rapid.T) elastic.Snapshot {
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{Cooldown: time.Minute, Payback: 2, DeafAfter: 3}, Sweeps: map[string]elastic.Sweep{}}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprint("n", i), Partitions: []string{"gpu"}, GPUs: rapid.IntRange(1, 4).Draw(t, "gpus"), Usable: true, CPUs: 64})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "sweeps") {
		s.Sweeps[sweepToken(i)] = elastic.Sweep{
			Number: elastic.JobID(100 * i), Metric: "acc", Paused: rapid.IntRange(0, 5).Draw(t, "paused") == 0, Wants: rapid.IntRange(1, 6).Draw(t, "wants"),
			Level: rapid.IntRange(0, 3).Draw(t, "level"), Bid: rapid.Float64Range(0, 1).Draw(t, "bid"),
		}
	}
	for i := range rapid.IntRange(1, 9).Draw(t, "jobs") {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Speaks: true, Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1, Max: 1}, Submitted: now.Add(time.Duration(i-100) * time.Minute)}
		if k := rapid.IntRange(-2, len(s.Sweeps)-1).Draw(t, "sweep"); k >= 0 {
			j.Spec.Sweep, j.UID = sweepToken(k), uint32(1000+k%2)
			j.Spec.Max = rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "max of a lane")
		} else {
			j.Spec.Max = rapid.IntRange(1, 3).Draw(t, "max")
			j.Spec.Total, j.Curve = 1000, speed.Fit([]speed.Sample{{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 100, Units: 1, At: now}}, now)
		}
		if rapid.Bool().Draw(t, "runs") {
			for k := range s.Nodes {
				if s.Nodes[k].Free() > 0 {
					n := min(s.Nodes[k].Free(), rapid.IntRange(1, j.Spec.Max).Draw(t, "has"))
					j.Phase, j.Place = elastic.Running, nodes.Placement{{Node: s.Nodes[k].Name, GPUs: n}}
					j.Started = now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "ran")) * time.Second)
					s.Nodes = nodes.With(s.Nodes, j.Load(j.Place))
					break
				}
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// TestLanes: whatever the policy, a sweep keeps its first lane; a further lane is stopped for a job that
// starts then, for another sweep, or because its sweep is paused, and not right after its start; and none
// starts while another job waits for its GPUs.
func TestLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawLanes(t)
		p, err := policy.ByName(rapid.SampledFrom([]string{"knapsack", "lookahead", "optimus"}).Draw(t, "policy"))
		if err != nil {
			t.Fatal(err)
		}
		a := p.Decide(s)
		if again := p.Decide(s); !reflect.DeepEqual(a, again) {
			t.Fatalf("twice: %v and %v", a, again)
		}
		where := plan.Arrange(s, a)
		had, has, started := map[string]int{}, map[string]int{}, 0
		for i := range s.Jobs {
			j := &s.Jobs[i]
			token, d := j.Spec.Sweep, a[j.ID]
			runs, will := j.GPUs() > 0, where.Target[j.ID].GPUs() > 0
			if token == "" {
				if runs && !will {
					t.Fatalf("job %d is stopped", j.ID)
				}
				continue
			}
			if runs {
				had[token]++
			}
			if will {
				has[token]++
			}
			if !runs && will && had[token] > 0 {
				started++
			}
			stops, stopped := d.Why.(reason.Stops)
			paused := s.Sweeps[token].Paused
			switch {
			case runs && !will && !stopped:
				t.Fatalf("lane %d is stopped: %v", j.ID, d.Why)
			case !runs && will && paused:
				t.Fatalf("lane %d of a paused sweep starts", j.ID)
			case stopped && !paused && s.Now.Sub(j.Started) < time.Minute:
				t.Fatalf("lane %d is stopped %v after its start", j.ID, s.Now.Sub(j.Started))
			}
			if y, yields := stops.Because.(reason.LaneYields); yields && where.Target[elastic.JobID(y.Job)].GPUs() == 0 {
				t.Fatalf("lane %d is stopped for job %d, which does not start", j.ID, y.Job)
			}
		}
		for token, sweep := range s.Sweeps {
			if had[token] > 0 && has[token] == 0 && !sweep.Paused {
				t.Fatalf("sweep %d loses its last lane", sweep.Number)
			}
		}
		for i := range s.Jobs {
			j := &s.Jobs[i]
			first := j.Spec.Sweep == "" || has[j.Spec.Sweep] == 0 && !s.Sweeps[j.Spec.Sweep].Paused && s.Sweeps[j.Spec.Sweep].Wants > 0
			if first && j.Phase == elastic.Waiting && where.Target[j.ID].GPUs() == 0 && started > 0 {
				t.Fatalf("job %d waits, and %d further lanes start", j.ID, started)
			}
		}
	})
}

// TestLanesWithinShares: what is idle within all shares starts no lane that its sweep should not have,
// whether the policy is asked before shares are divided or after.
func TestLanesWithinShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawLanes(t)
		shares := map[uint32]*elastic.Cap{}
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if shares[j.UID] == nil {
				shares[j.UID] = &elastic.Cap{Name: "share", Of: elastic.GPUs, Most: rapid.IntRange(0, 4).Draw(t, "share"), Reclaims: true, Jobs: map[elastic.JobID]bool{}}
				shares[j.UID].Why = reason.Deserved{User: fmt.Sprint(j.UID), GPUs: shares[j.UID].Most}
			}
			shares[j.UID].Jobs[j.ID] = true
		}
		for _, uid := range slices.Sorted(maps.Keys(shares)) {
			s.Caps = append(s.Caps, *shares[uid])
		}
		p, err := policy.ByName(rapid.SampledFrom([]string{"knapsack", "lookahead", "optimus"}).Draw(t, "policy"))
		if err != nil {
			t.Fatal(err)
		}
		for path, decide := range paths {
			where := plan.Arrange(s, decide(p, s))
			has := map[string]int{}
			for i := range s.Jobs {
				j := &s.Jobs[i]
				if where.Target[j.ID].GPUs() == 0 || j.Spec.Sweep == "" {
					continue
				}
				has[j.Spec.Sweep]++
				if j.GPUs() > 0 {
					continue
				}
				switch sweep := s.Sweeps[j.Spec.Sweep]; {
				case sweep.Paused:
					t.Fatalf("%s: lane %d of a paused sweep starts", path, j.ID)
				case has[j.Spec.Sweep] > sweep.Wants:
					t.Fatalf("%s: lane %d starts, and its sweep wants %d", path, j.ID, sweep.Wants)
				}
			}
		}
	})
}

// TestLanesOfAnotherUser: a job of another user that names a sweep's token is not its first lane: the sweep's own
// starts as early as any job.
func TestLanesOfAnotherUser(t *testing.T) {
	p, err := policy.ByName("lookahead")
	if err != nil {
		t.Fatal(err)
	}
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{Cooldown: time.Minute, Payback: 2, DeafAfter: 3}, Nodes: []nodes.Node{{Name: "n0", Partitions: []string{"gpu"}, GPUs: 2, Usable: true, CPUs: 64}}}
	lane := func(id elastic.JobID, uid uint32) elastic.Job {
		return elastic.Job{ID: id, UID: uid, Partition: "gpu", Speaks: true, Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1, Max: 1, Sweep: sweepToken(1)}, Submitted: now.Add(time.Duration(id-100) * time.Minute)}
	}
	foreign, own, other := lane(1, 1001), lane(3, 1000), lane(4, 1000)
	foreign.Phase, foreign.Place, foreign.Started = elastic.Running, nodes.Placement{{Node: "n0", GPUs: 1}}, now.Add(-time.Hour)
	other.Spec.Sweep, other.UID = "", 1002
	s.Jobs = []elastic.Job{foreign, own, other}
	s.Nodes = nodes.With(s.Nodes, foreign.Load(foreign.Place))
	if a := p.Decide(s); a[own.ID].GPUs != 1 || a[other.ID].GPUs != 0 {
		t.Errorf("the sweep's first lane: %+v, the job after it: %+v", a[own.ID], a[other.ID])
	}
}
