package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// queueing draws a cluster with running jobs that no policy moves, with and without time
// limits, and waiting jobs.
func queueing(t *rapid.T) elastic.Snapshot {
	s := elastic.Snapshot{Now: now}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i), Partitions: []string{"gpu"}, GPUs: rapid.IntRange(1, 4).Draw(t, "gpus"), Usable: true})
	}
	limits := []time.Duration{0, time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour}
	for i := range rapid.IntRange(2, 9).Draw(t, "jobs") {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Phase: elastic.Waiting, TimeLimit: rapid.SampledFrom(limits).Draw(t, "limit")}
		j.Spec = elastic.Spec{Min: rapid.IntRange(1, 6).Draw(t, "min"), AllowUneven: rapid.Bool().Draw(t, "uneven")}
		j.Spec.Max = j.Spec.Min
		if rapid.Bool().Draw(t, "runs") {
			place := nodes.Place(s.Nodes, []nodes.Request{{GPUs: j.Spec.Min, Partition: "gpu", Uneven: j.Spec.AllowUneven}})[0].Placement
			tenant := rapid.Bool().Draw(t, "ordinary")
			nodes.Charge(s.Nodes, nodes.Load{Place: place})
			j.Phase, j.Place, j.TimeLeft = elastic.Running, place, j.TimeLimit
			if len(place) == 0 {
				j.Phase, j.TimeLeft = elastic.Waiting, 0
			} else if tenant && len(place) == 1 {
				own := elastic.Tenant{ID: j.ID, Place: place}
				if j.TimeLimit > 0 {
					own.Ends = now.Add(j.TimeLimit)
				}
				s.Tenants = append(s.Tenants, own)
				continue
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// start carries out the starts of a decision, and of the decisions that follow at the same
// moment: the jobs' time limits begin.
func start(s elastic.Snapshot, p policy.Policy) elastic.Snapshot {
	a := p.Decide(s)
	where := plan.Arrange(s, a)
	s.Jobs, s.Nodes = slices.Clone(s.Jobs), slices.Clone(s.Nodes)
	more := false
	for i := range s.Jobs {
		if j := &s.Jobs[i]; len(j.Place) == 0 && a[j.ID].GPUs > 0 {
			j.Place, j.Phase, j.TimeLeft = where.Target[j.ID], elastic.Running, j.TimeLimit
			nodes.Charge(s.Nodes, nodes.Load{Place: j.Place})
			more = len(j.Place) > 0
		}
	}
	if more {
		return start(s, p)
	}
	return s
}

// next returns the cluster when the next job has ended by its limit; false if none will.
func next(s elastic.Snapshot) (elastic.Snapshot, bool) {
	left := time.Duration(0)
	soonest := func(d time.Duration) {
		if d > 0 && (left == 0 || d < left) {
			left = d
		}
	}
	for _, j := range s.Jobs {
		soonest(j.TimeLeft)
	}
	for _, t := range s.Tenants {
		soonest(t.Ends.Sub(s.Now))
	}
	if left == 0 {
		return s, false
	}
	jobs, tenants := s.Jobs, s.Tenants
	s.Now, s.Jobs, s.Tenants, s.Nodes = s.Now.Add(left), nil, nil, slices.Clone(s.Nodes)
	for _, j := range jobs {
		if j.TimeLeft == left {
			nodes.Credit(s.Nodes, nodes.Load{Place: j.Place})
			continue
		}
		j.TimeLeft = max(0, j.TimeLeft-left)
		s.Jobs = append(s.Jobs, j)
	}
	for _, t := range tenants {
		if t.Ends.Equal(s.Now) {
			nodes.Credit(s.Nodes, nodes.Load{Place: t.Place})
			continue
		}
		s.Tenants = append(s.Tenants, t)
	}
	return s, true
}

// begins returns when the job starts if all jobs end by their limits; zero if it never does.
func begins(s elastic.Snapshot, p policy.Policy, id elastic.JobID) time.Time {
	for more := true; more; s, more = next(s) {
		s = start(s, p)
		for _, j := range s.Jobs {
			if j.ID == id && len(j.Place) > 0 {
				return s.Now
			}
		}
	}
	return time.Time{}
}

// TestBackfillDelaysNoReservation simulates on, with jobs that end only by their time limits:
// the first waiting job starts as early with all later jobs as without them.
func TestBackfillDelaysNoReservation(t *testing.T) {
	filled := 0
	rapid.Check(t, func(t *rapid.T) {
		s := queueing(t)
		name := rapid.SampledFrom([]string{"lookahead", "annealing", "knapsack", "welfare", "fcfs", "ef"}).Draw(t, "policy")
		p, err := policy.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		a := p.Decide(s)
		head := slices.IndexFunc(s.Jobs, func(j elastic.Job) bool { return a[j.ID].Reserves })
		if head < 0 {
			return
		}
		id := s.Jobs[head].ID
		alone := s
		alone.Jobs = nil
		for i, j := range s.Jobs {
			if i <= head || len(j.Place) > 0 {
				alone.Jobs = append(alone.Jobs, j)
			} else if a[j.ID].GPUs > 0 {
				filled++
			}
		}
		want, got := begins(alone, p, id), begins(s, p, id)
		if !got.Equal(want) {
			t.Fatalf("%s: job %d starts at %v, without those behind it at %v\n%+v", p.Name, id, got, want, a)
		}
	})
	t.Logf("%d jobs were backfilled", filled)
	if filled == 0 && !testing.Short() && !underRace { // a fifth of the draws may have none
		t.Error("no job was ever backfilled")
	}
}

// TestBackfillLeavesPieces: the first waiting job takes the GPUs that a backfilled one leaves,
// though these are different numbers on more nodes than it would need on an empty cluster.
func TestBackfillLeavesPieces(t *testing.T) {
	for _, p := range policy.All {
		s := elastic.Snapshot{Now: now}
		for i, n := range []int{1, 1, 4} {
			s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i), Partitions: []string{"gpu"}, GPUs: n, Usable: true})
		}
		add := func(limit time.Duration, n int, uneven bool, place nodes.Placement) {
			j := elastic.Job{ID: elastic.JobID(len(s.Jobs) + 1), Partition: "gpu", Phase: elastic.Waiting, TimeLimit: limit, Spec: elastic.Spec{Min: n, Max: n, AllowUneven: uneven}}
			if len(place) > 0 {
				j.Phase, j.Place, j.TimeLeft = elastic.Running, place, limit
				nodes.Charge(s.Nodes, j.Load(place))
			}
			s.Jobs = append(s.Jobs, j)
		}
		half := nodes.Placement{{Node: "n2", GPUs: 2}}
		add(time.Minute, 1, false, nil)
		add(0, 3, true, nil)
		add(0, 2, false, half)
		add(time.Minute, 2, false, half)
		add(0, 1, false, nil)
		alone := s
		alone.Jobs = s.Jobs[:4]
		if want, got := begins(alone, p, 2), begins(s, p, 2); !got.Equal(want) {
			t.Errorf("%s: job 2 starts at %v, without job 5 at %v", p.Name, got, want)
		}
	}
}

// wideWaiting draws a wide job that waits, and later jobs on two GPU types that run, beside
// ordinary ones.
func wideWaiting(t *rapid.T) elastic.Snapshot {
	s := elastic.Snapshot{Now: now}
	all := 0
	for i := range rapid.IntRange(2, 4).Draw(t, "nodes") {
		n := nodes.Node{Name: fmt.Sprintf("n%d", i), Partitions: []string{"gpu"}, GPUs: rapid.IntRange(1, 4).Draw(t, "gpus"), Usable: true}
		n.Type = rapid.SampledFrom([]string{"a100", "t4"}).Draw(t, "type")
		s.Nodes, all = append(s.Nodes, n), all+n.GPUs
	}
	limits := []time.Duration{0, 20 * time.Minute, time.Hour, 2 * time.Hour}
	head := elastic.Job{ID: 1, Partition: "gpu", Phase: elastic.Waiting, TimeLimit: time.Hour}
	head.Spec = elastic.Spec{Min: rapid.IntRange(1+all/2, all).Draw(t, "wide"), AllowUneven: true}
	head.Spec.Max = head.Spec.Min
	s.Jobs = []elastic.Job{head}
	for id := range elastic.JobID(rapid.IntRange(2, 5).Draw(t, "jobs")) {
		j := elastic.Job{ID: id + 2, Partition: "gpu", Phase: elastic.Running, TimeLimit: rapid.SampledFrom(limits).Draw(t, "limit"), Speaks: true}
		j.Spec = elastic.Spec{Min: rapid.IntRange(1, 2).Draw(t, "min"), Max: rapid.IntRange(2, 4).Draw(t, "max"), Total: 1e4}
		j.TimeLeft = j.TimeLimit * time.Duration(rapid.IntRange(1, 10).Draw(t, "left")) / 10
		j.Place = nodes.Place(s.Nodes, []nodes.Request{{GPUs: j.Spec.Min, Partition: "gpu"}})[0].Placement
		if len(j.Place) == 0 {
			continue
		}
		nodes.Charge(s.Nodes, nodes.Load{Place: j.Place})
		if len(j.Place) == 1 && rapid.Bool().Draw(t, "ordinary") {
			own := elastic.Tenant{ID: j.ID, Place: j.Place}
			if j.TimeLeft > 0 {
				own.Ends = now.Add(j.TimeLeft)
			}
			s.Tenants = append(s.Tenants, own)
			continue
		}
		one := func(kind string, seconds float64) speed.Sample {
			return speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: seconds, Units: 1, At: now, Kind: kind}
		}
		j.Curve = speed.Fit([]speed.Sample{one("a100", 10), one("t4", rapid.SampledFrom([]float64{2, 10, 40}).Draw(t, "t4"))}, now)
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// TestBackfilledJobsDoNotDelayTheHead draws jobs of two types of GPU that run, some of them
// behind one that waits, with part of their limits gone: what a decision moves starts its
// limit anew, and the head starts no later for it as all jobs end by their limits.
func TestBackfilledJobsDoNotDelayTheHead(t *testing.T) {
	moves, stay := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := wideWaiting(t)
		s.Expect()
		p, err := policy.ByName(rapid.SampledFrom([]string{"lookahead", "annealing", "knapsack", "welfare"}).Draw(t, "policy"))
		if err != nil {
			t.Fatal(err)
		}
		a := p.Decide(s)
		where := plan.Arrange(s, a)
		head := slices.IndexFunc(s.Jobs, func(j elastic.Job) bool { return a[j.ID].Reserves })
		if head < 0 || slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool { return len(j.Place) == 0 && a[j.ID].GPUs > 0 }) {
			return
		}
		// Both clusters have the running jobs, rigid, and the head.
		id, came := s.Jobs[head].ID, s.Jobs[head+1:]
		still := func(move bool) elastic.Snapshot {
			w := s
			w.Jobs, w.Nodes = nil, slices.Clone(s.Nodes)
			for _, j := range s.Jobs {
				if j.ID != id && len(j.Place) == 0 {
					continue
				}
				j.Speaks = false
				if target := where.Target[j.ID]; move && j.ID != id && !target.Equal(j.Place) {
					nodes.Credit(w.Nodes, nodes.Load{Place: j.Place})
					j.Place, j.TimeLeft = target, j.TimeLimit
					nodes.Charge(w.Nodes, nodes.Load{Place: j.Place})
					moves++
				}
				w.Jobs = append(w.Jobs, j)
			}
			return w
		}
		for _, j := range came {
			if strings.Contains(sentence(a[j.ID].Why), "its time limit starts anew") {
				stay++
			}
		}
		was, is := begins(still(false), p, id), begins(still(true), p, id)
		if !was.IsZero() && (is.IsZero() || is.After(was)) {
			t.Fatalf("%s: job %d starts at %v instead of %v\n%s%s", p.Name, id, is, was, dump(s), render(s, a))
		}
	})
	t.Logf("%d moves, %d stayed for it", moves, stay)
	if stay == 0 && !testing.Short() && !underRace { // among few draws there may be none
		t.Error("no job ever stayed")
	}
}
