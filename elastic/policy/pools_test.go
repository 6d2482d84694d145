package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestJobsLeaveEdgePools: for every policy, no job runs on two nodes of an edge pool, a job on a
// node that takes nothing new leaves it, no job elsewhere is stopped, and a job that left an
// edge node for an ordinary job left it the GPUs that one waits for.
func TestJobsLeaveEdgePools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		for _, p := range policy.All {
			a := p.Decide(s)
			where := plan.Arrange(s, a)
			for _, j := range s.Jobs {
				was, now := s.Committed(j), where.Target[j.ID]
				switch d := a[j.ID]; {
				case d.Leaves && (!onEdge(s, j) || !where.Park[j.ID]):
					t.Fatalf("%s: job %d is to leave %v: %+v\n%s", p.Name, j.ID, was, d, dump(s))
				case where.Park[j.ID] && !d.Leaves:
					t.Fatalf("%s: job %d is stopped: %+v", p.Name, j.ID, d)
				case len(now) > 1 && !now.Equal(was) && !holdsMain(s, j):
					t.Fatalf("%s: job %d is to be on several edge nodes: %v", p.Name, j.ID, now)
				}
				if onEdge(s, j) && movesFreely(s, j) && now.On(j.Place[0].Node) > 0 && !usable(s, j.Place[0].Node) {
					t.Fatalf("%s: job %d stays on %v, which accepts no new jobs: %s\n%s", p.Name, j.ID, now, sentence(a[j.ID].Why), dump(s))
				}
			}
		}
	})
}

// TestNoStartInTheWayAtTheEdge: for every policy, no job starts on an edge node on GPUs that an ordinary job
// waits for and would find otherwise. It would leave them again; where two jobs had left for one ordinary job,
// each took what it had left before the other was stopped, for ever.
func TestNoStartInTheWayAtTheEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		for _, p := range policy.All {
			a := p.Decide(s)
			where := plan.Arrange(s, a)
			var starting []elastic.JobID
			for _, j := range s.Jobs {
				ran := j
				ran.Phase, ran.Place = elastic.Running, where.Target[j.ID]
				if _, moving := s.Intent(j.ID); !moving && j.Phase == elastic.Waiting && onEdge(s, ran) {
					starting = append(starting, j.ID)
				}
			}
			for _, d := range s.Demands {
				if len(starting) > 0 && !finds(s, where, d, nil) && finds(s, where, d, starting) {
					t.Fatalf("%s: of jobs %v some start on what job %d waits for\n%s\n%s", p.Name, starting, d.ID, dump(s), render(s, a))
				}
			}
		}
	})
}

// finds: the ordinary job would find its GPUs where the others are after the decision, without those jobs.
func finds(s elastic.Snapshot, where plan.Arrangement, d elastic.Demand, without []elastic.JobID) bool {
	after := s.Nodes
	for _, j := range s.Jobs {
		after = nodes.Without(after, j.Load(j.Place))
		if !slices.Contains(without, j.ID) {
			after = nodes.With(after, j.Load(where.Target[j.ID]))
		}
	}
	_, found := nodes.Reserve(after, []nodes.Want{d.Want()})
	return found[0]
}

// onEdge: the job runs on an edge node that it may use only as such.
func onEdge(s elastic.Snapshot, j elastic.Job) bool {
	if len(j.Place) != 1 || j.Phase != elastic.Running {
		return false
	}
	edge := false
	for _, p := range strings.Split(j.Partition, ",") {
		for _, n := range s.Nodes {
			if n.Name == j.Place[0].Node && n.In(p) {
				if !s.Edges[p] {
					return false
				}
				edge = true
			}
		}
	}
	return edge
}

// holdsMain: the job may run outside edge pools.
func holdsMain(s elastic.Snapshot, j elastic.Job) bool {
	for _, p := range strings.Split(j.Partition, ",") {
		if !s.Edges[p] {
			return true
		}
	}
	return false
}

func movesFreely(s elastic.Snapshot, j elastic.Job) bool {
	_, moving := s.Intent(j.ID)
	return j.Speaks && !j.LosesCheckpoints() && !j.UserHold && !j.Directive.Hold && !moving && (s.Limits.DeafAfter == 0 || j.Deaf < s.Limits.DeafAfter)
}

func usable(s elastic.Snapshot, node string) bool {
	for _, n := range s.Nodes {
		if n.Name == node {
			return n.Usable
		}
	}
	return false
}

// TestByPartition: each partition's jobs are decided about by its own policy, and nothing is
// allocated twice.
func TestByPartition(t *testing.T) {
	both, err := policy.InPartitions("knapsack", map[string]string{"fast": "fcfs", "gpu": "knapsack"})
	if err != nil || both.Name != "knapsack (fast: fcfs)" {
		t.Fatalf("%q, %v", both.Name, err)
	}
	if same, _ := policy.InPartitions("knapsack", map[string]string{"fast": "knapsack"}); same.Name != "knapsack" {
		t.Errorf("%q", same.Name)
	}
	if _, err := policy.InPartitions("knapsack", map[string]string{"fast": "drf"}); err == nil || !strings.Contains(err.Error(), "partition fast") {
		t.Error(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		a := both.Decide(s)
		where := plan.Arrange(s, a)
		within(t, both.Name, s, apply(s, a))
		for _, j := range s.Jobs {
			if a[j.ID].Why == nil {
				t.Fatalf("job %d: no reason", j.ID)
			}
			if was := s.Committed(j); strings.HasPrefix(j.Partition, "fast") && len(was) > 0 && !where.Target[j.ID].Equal(was) {
				t.Fatalf("job %d, under fcfs, goes from %v to %v", j.ID, was, where.Target[j.ID])
			}
		}
	})
}
