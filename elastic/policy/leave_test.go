package policy_test

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// A job that leaves unfit GPUs has reported them and may be moved; it gets as many as it has,
// on nodes that accept new jobs, and no other job gets less for it.
func TestLeavingIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		s.Edges = nil // departures from edge pools are tested in TestJobsLeaveEdgePools
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if j.OnUnfitGPU = len(j.Place) > 0 && rapid.Bool().Draw(t, "unfit"); !j.OnUnfitGPU {
				continue
			}
			for n := range s.Nodes {
				s.Nodes[n].Usable = s.Nodes[n].Usable && s.Nodes[n].Name != j.Place[0].Node
			}
		}
		if rapid.Bool().Draw(t, "room") {
			s.Nodes = append(s.Nodes, nodes.Node{Name: "n9", GPUs: 8, Partitions: []string{"gpu", "fast"}, Usable: true})
		}
		well := s
		well.Jobs = append([]elastic.Job(nil), s.Jobs...)
		for i := range well.Jobs {
			well.Jobs[i].OnUnfitGPU = false
		}
		for _, p := range policy.All {
			plain, a := p.Decide(well), p.Decide(s)
			before, where := plan.Arrange(s, plain), plan.Arrange(s, a)
			for _, j := range s.Jobs {
				sound(t, p.Name, s, j, a, where)
				if reflect.DeepEqual(a[j.ID], plain[j.ID]) {
					if where.Target[j.ID].GPUs() != before.Target[j.ID].GPUs() {
						t.Fatalf("%s: job %d gets %v instead of %v", p.Name, j.ID, where.Target[j.ID], before.Target[j.ID])
					}
					continue
				}
				leftSoundly(t, s, j, a[j.ID].Place)
				if p.Rigid || !where.Target[j.ID].Equal(a[j.ID].Place) || plain[j.ID].GPUs != j.GPUs() {
					t.Fatalf("%s: job %d, %v before, is arranged as %v", p.Name, j.ID, plain[j.ID], where.Target[j.ID])
				}
			}
			within(t, p.Name, s, apply(s, a))
		}
	})
}

// leftSoundly checks one job that is moved, and where to.
func leftSoundly(t *rapid.T, s elastic.Snapshot, j elastic.Job, to nodes.Placement) {
	_, moving := s.Intent(j.ID)
	switch {
	case !j.OnUnfitGPU || moving || j.Phase != elastic.Running || !j.Speaks || j.UserHold || j.Directive.Hold || j.MIG:
		t.Fatalf("job %d is moved", j.ID)
	case s.Limits.Cooldown > 0 && !j.Moved.IsZero() && s.Now.Sub(j.Moved) < s.Limits.Cooldown:
		t.Fatalf("job %d is moved, and was a moment ago", j.ID)
	case to.GPUs() != j.GPUs() || to.Equal(j.Place):
		t.Fatalf("job %d on %v is moved to %v", j.ID, j.Place, to)
	}
	for _, n := range s.Nodes {
		if !n.Usable && to.On(n.Name) > 0 {
			t.Fatalf("job %d is moved to %v, and %s takes nothing", j.ID, to, n.Name)
		}
	}
}

// Ordinary jobs that wait come first, and so does a job that could start instead.
func TestLeavingTakesWhatIsIdle(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*elastic.Snapshot)
		leaves bool
	}{
		"idle":                  {func(*elastic.Snapshot) {}, true},
		"an ordinary job waits": {func(s *elastic.Snapshot) { s.Demands = []elastic.Demand{{ID: 9, Partition: "gpu", Nodes: 1, GPUs: 4}} }, false},
		"one for a part":        {func(s *elastic.Snapshot) { s.Demands = []elastic.Demand{{ID: 9, Partition: "gpu", Nodes: 1, GPUs: 2}} }, true},
		"another starts": {func(s *elastic.Snapshot) {
			s.Jobs = append(s.Jobs, elastic.Job{ID: 2, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 4, Max: 4}})
		}, false},
		"others say so, not itself": {func(s *elastic.Snapshot) { s.Jobs[0].OnUnfitGPU = false }, false},
		"it is deaf":                {func(s *elastic.Snapshot) { s.Jobs[0].Speaks = false }, false},
		"it is on slices":           {func(s *elastic.Snapshot) { s.Jobs[0].MIG = true }, false},
		"nowhere":                   {func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, false},
	} {
		at := nodes.Placement{{Node: "n1", GPUs: 2}}
		s := elastic.Snapshot{Now: now, Nodes: []nodes.Node{
			{Name: "n1", GPUs: 4, Used: 2, Partitions: []string{"gpu"}, Why: nodes.Unusable{State: nodes.Unfit, Note: "GPU 0: lost"}},
			{Name: "n2", GPUs: 4, Partitions: []string{"gpu"}, Usable: true},
		}, Jobs: []elastic.Job{{ID: 1, Partition: "gpu", Phase: elastic.Running, Place: at, Speaks: true, OnUnfitGPU: true, Spec: elastic.Spec{Min: 2, Max: 2}}}}
		c.change(&s)
		for _, p := range policy.All {
			want := c.leaves && !p.Rigid
			if d := p.Decide(s)[1]; (d.Place.On("n2") == 2) != want {
				t.Errorf("%s: %s: %+v", name, p.Name, d)
			}
		}
	}
}

// TestNoGPUIsGivenBackForAnUnusableNode: for an ordinary job that could only start on a node that is
// down, no job gives GPUs back.
func TestNoGPUIsGivenBackForAnUnusableNode(t *testing.T) {
	s := elastic.Snapshot{Now: now, Demands: []elastic.Demand{{ID: 900, Partition: "gpu", Nodes: 1, GPUs: 5}}}
	for i, n := range []int{4, 4, 8} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i+1), Partitions: []string{"gpu"}, GPUs: n, Usable: n < 8})
	}
	j := elastic.Job{ID: 1, Partition: "gpu", Phase: elastic.Running, Speaks: true, Spec: elastic.Spec{Min: 1, Step: 1, AllowUneven: true}, Place: nodes.Placement{{Node: "n1", GPUs: 3}}}
	s.Jobs, s.Nodes = []elastic.Job{j}, nodes.With(s.Nodes, j.Load(j.Place))
	for _, p := range policy.All {
		if a := p.Allocate(s); p.Name != "srpt" && a[1].GPUs < 3 { // under srpt jobs have the size they requested
			t.Errorf("%s: job 1 gives GPUs back: %s", p.Name, sentence(a[1].Why))
		}
	}
}
