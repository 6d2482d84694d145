package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawWorld draws a cluster with ordinary jobs, waiting and running jobs and open moves, and
// decisions of a policy: sizes with places, valid and invalid, sizes without, and none at all.
func drawWorld(t *rapid.T) (elastic.Snapshot, elastic.Allocation) {
	s := elastic.Snapshot{Now: noon, Limits: elastic.Limits{
		Preempt: rapid.Bool().Draw(t, "preempt"), ShareNodes: rapid.Bool().Draw(t, "share nodes"),
		Placement: policytest.Placement(rapid.IntRange(0, 3).Draw(t, "any split") == 0), Moves: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "moves"),
	}}
	tight := rapid.Bool().Draw(t, "tight")
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		n := nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: rapid.SampledFrom([]int{2, 4, 4}).Draw(t, "gpus"), Usable: true, Partitions: []string{"gpu"}}
		if rapid.IntRange(0, 2).Draw(t, "types") == 0 {
			n.Types = []nodes.OfType{{Type: "blue", GPUs: n.GPUs - 1}, {Type: "red", GPUs: 1}}
		}
		if rapid.IntRange(0, 3).Draw(t, "counted") == 0 {
			n.CPUs, n.MemoryMB = 8, 4000
		}
		if !tight && n.Types == nil && rapid.IntRange(0, 3).Draw(t, "foreign") == 0 {
			n.Used = rapid.IntRange(0, n.GPUs).Draw(t, "used")
			n.Spanning = rapid.IntRange(0, min(1, n.Used)).Draw(t, "ordinary jobs on several nodes")
		}
		s.Nodes = append(s.Nodes, n)
	}
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		s.Jobs = append(s.Jobs, drawElastic(t, &s, i+1, tight))
	}
	for i := range s.Nodes {
		s.Nodes[i].Usable = rapid.IntRange(0, 9).Draw(t, "usable") > 0
	}
	a := elastic.Allocation{}
	for _, j := range s.Jobs {
		switch rapid.IntRange(0, 9).Draw(t, "decision") {
		case 0:
		case 1:
			a[j.ID] = elastic.Decision{GPUs: rapid.IntRange(0, 6).Draw(t, "size"), Why: reason.Pinned}
		default:
			p := drawPlace(t, s.Nodes)
			a[j.ID] = elastic.Decision{GPUs: p.GPUs(), Place: p, Why: reason.Pinned}
		}
	}
	return s, a
}

func drawElastic(t *rapid.T, s *elastic.Snapshot, id int, tight bool) elastic.Job {
	j := elastic.Job{ID: elastic.JobID(id), Phase: elastic.Waiting, Partition: "gpu", Spec: elastic.Spec{
		Min: 1, AllowUneven: rapid.Bool().Draw(t, "uneven"),
		CPUsPerGPU: rapid.IntRange(0, 2).Draw(t, "cpus"), MemPerGPUMB: int64(rapid.SampledFrom([]int{0, 500}).Draw(t, "memory")),
	}}
	if rapid.Bool().Draw(t, "typed") {
		j.Spec.Types = []string{rapid.SampledFrom([]string{"red", "blue"}).Draw(t, "type")}
	}
	if !tight && rapid.IntRange(0, 2).Draw(t, "waits") == 0 {
		j.Directive.Hold = rapid.IntRange(0, 5).Draw(t, "held") == 0
		return j
	}
	p := freePlace(*s, j, rapid.IntRange(1, 5).Draw(t, "has"))
	if p == nil {
		return j
	}
	take(s, j, p, 1)
	j.Phase, j.Place = elastic.Running, p
	switch rapid.IntRange(0, 9).Draw(t, "phase") {
	case 0:
		j.Phase = elastic.Suspended
	case 1:
		j.UserHold = true
	case 2:
		if target := freePlace(*s, j, rapid.IntRange(1, 4).Draw(t, "promised")); target != nil {
			s.Intents = append(s.Intents, elastic.Intent{Job: j.ID, Kind: elastic.Resize, From: p, Target: target})
		}
	}
	return j
}

// freePlace finds a place that open moves and jobs leave free.
func freePlace(s elastic.Snapshot, j elastic.Job, gpus int) nodes.Placement {
	inv := nodes.With(s.Nodes)
	for _, in := range s.Intents {
		i := slices.IndexFunc(s.Jobs, func(j elastic.Job) bool { return j.ID == in.Job })
		nodes.Charge(inv, nodes.Load{Place: in.Target, CPUsPerGPU: 2, MemPerGPUMB: 500, Type: s.Jobs[i].Spec.Type()})
	}
	r := j.Request(s.Limits)
	r.GPUs, r.Partition, r.Uneven = gpus, "", j.Spec.AllowUneven
	return nodes.Place(inv, []nodes.Request{r})[0].Placement
}

func take(s *elastic.Snapshot, j elastic.Job, p nodes.Placement, sign int) {
	load := j.Load(p)
	if sign > 0 {
		s.Nodes = nodes.With(s.Nodes, load)
	} else {
		s.Nodes = nodes.Without(s.Nodes, load)
	}
}

// drawPlace draws any place, sometimes an impossible one.
func drawPlace(t *rapid.T, inv []nodes.Node) nodes.Placement {
	var p nodes.Placement
	each := rapid.IntRange(1, 4).Draw(t, "each")
	for range rapid.IntRange(1, 3).Draw(t, "several") {
		p = append(p, nodes.Share{Node: rapid.SampledFrom(inv).Draw(t, "node").Name, GPUs: each})
		if rapid.IntRange(0, 3).Draw(t, "other share") == 0 {
			each = rapid.IntRange(0, 4).Draw(t, "each")
		}
	}
	if rapid.IntRange(0, 30).Draw(t, "unknown") == 0 {
		p = append(p, nodes.Share{Node: "nowhere", GPUs: 1})
	}
	return p
}

func story(s elastic.Snapshot, a elastic.Allocation, where plan.Arrangement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "limits %+v\n", s.Limits)
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "node %+v\n", n)
	}
	for _, in := range s.Intents {
		fmt.Fprintf(&b, "open %d: %s -> %s\n", in.Job, in.From, in.Target)
	}
	for _, j := range s.Jobs {
		d, named := a[j.ID]
		fmt.Fprintf(&b, "job %d %s at %s %+v, named %t: %d on %s; target %s park %t %s\n", j.ID, j.Phase, j.Place, j.Spec,
			named, d.GPUs, d.Place, where.Target[j.ID], where.Park[j.ID], reason.String(where.Unplaced[j.ID]))
	}
	fmt.Fprintf(&b, "order %v", where.Order)
	return b.String()
}

// An arrangement always fits on the cluster, with every open move completed.
func TestArrangementsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawWorld(t)
		where := plan.Arrange(s, a)
		after, before := s.Foreign(), s.Foreign()
		for _, j := range s.Jobs {
			bound := s.Committed(j)
			after, before = nodes.With(after, loadOf(j, where.Target[j.ID])), nodes.With(before, loadOf(j, bound))
			if p := where.Target[j.ID]; !p.Equal(bound) {
				soundPlace(t, s, a, where, j)
			}
			if where.Park[j.ID] && (!s.Limits.Preempt || j.Phase != elastic.Running || a[j.ID].GPUs != 0 || len(where.Target[j.ID]) > 0) {
				t.Fatalf("job %d may not be stopped\n%s", j.ID, story(s, a, where))
			}
		}
		for i, n := range after {
			b := before[i]
			if n.Used > max(n.GPUs, b.Used) || n.Spanning > max(1, b.Spanning) && !s.Limits.ShareNodes ||
				n.CPUs > 0 && n.CPUsUsed > max(n.CPUs, b.CPUsUsed) || n.MemoryMB > 0 && n.MemUsedMB > max(n.MemoryMB, b.MemUsedMB) {
				t.Fatalf("%s is over-full: %+v, before %+v\n%s", n.Name, n, b, story(s, a, where))
			}
			for _, of := range n.Types {
				had, has := 0, 0
				for _, j := range s.Jobs {
					if slices.Contains(j.Spec.Types, of.Type) {
						had, has = had+s.Committed(j).On(n.Name), has+where.Target[j.ID].On(n.Name)
					}
				}
				if has > max(of.GPUs, had) {
					t.Fatalf("%s has not so many of type %s: %+v, before %+v\n%s", n.Name, of.Type, n, b, story(s, a, where))
				}
			}
		}
	})
}

func loadOf(j elastic.Job, p nodes.Placement) nodes.Load {
	return j.Load(p)
}

// soundPlace checks one job that is to move.
func soundPlace(t *rapid.T, s elastic.Snapshot, a elastic.Allocation, where plan.Arrangement, j elastic.Job) {
	p := where.Target[j.ID]
	if !p.Even() && !j.Spec.AllowUneven && !s.Limits.AnySplit() {
		t.Fatalf("job %d: %s is no split it accepts\n%s", j.ID, p, story(s, a, where))
	}
	if _, moving := s.Intent(j.ID); moving || j.UserHold || j.Directive.Hold || j.Phase == elastic.Suspended {
		t.Fatalf("job %d is not to be moved\n%s", j.ID, story(s, a, where))
	}
	if n := p.GPUs(); n > max(a[j.ID].GPUs, j.GPUs()) || n < min(a[j.ID].GPUs, j.GPUs()) && a[j.ID].GPUs >= j.GPUs() {
		t.Fatalf("job %d gets %d\n%s", j.ID, n, story(s, a, where))
	}
	seen := map[string]bool{}
	for _, share := range p {
		for _, n := range s.Nodes {
			if n.Name == share.Node && !n.Usable && j.Place.On(n.Name) == 0 {
				t.Fatalf("job %d: %s cannot be used\n%s", j.ID, n.Name, story(s, a, where))
			}
		}
		if share.GPUs < 1 || seen[share.Node] {
			t.Fatalf("job %d: %s\n%s", j.ID, p, story(s, a, where))
		}
		seen[share.Node] = true
	}
}

// A place that is named and possible is the place that is given.
func TestNamedPlacesAreGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawWorld(t)
		to := map[elastic.JobID]nodes.Placement{}
		for _, j := range s.Jobs {
			d, named := a[j.ID]
			switch {
			case !named || len(d.Place) == 0 && d.GPUs > 0 || d.GPUs == 0 && (!s.Limits.Preempt || len(j.Place) == 0):
				delete(a, j.ID)
			default:
				to[j.ID] = d.Place
			}
		}
		p, where := plan.Possible(s, to), plan.Arrange(s, a)
		for _, id := range p.Order {
			if got := where.Target[id]; !samePlace(got, to[id]) {
				t.Fatalf("job %d is on %s\n%+v\n%s", id, got, p, story(s, a, where))
			}
		}
		for _, id := range p.Circular {
			j := s.Jobs[slices.IndexFunc(s.Jobs, func(j elastic.Job) bool { return j.ID == id })]
			if a[id].GPUs == j.GPUs() && (!where.Target[id].Equal(j.Place) || where.Unplaced[id] == nil) {
				t.Fatalf("job %d does not stay: %s\n%+v\n%s", id, where.Target[id], p, story(s, a, where))
			}
		}
	})
}

func samePlace(p, q nodes.Placement) bool {
	for _, share := range q {
		if p.On(share.Node) != share.GPUs {
			return false
		}
	}
	return len(p) == len(q)
}

// Whatever moves are opened and however long each takes, all of them complete: no jobs wait in
// a circle, and no job gets GPUs that another one still holds.
func TestMovesNeverWaitInACircle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawWorld(t)
		s.Limits.Placement = nil // a cluster that allows any split makes all moves at once
		where := plan.Arrange(s, a)
		again := rapid.Bool().Draw(t, "arranged again after every look")
		first := story(s, a, where)
		for looks := 0; ; looks++ {
			if again && looks > 0 {
				where = plan.Arrange(s, a)
			}
			p := plan.Reconcile(s, a, where)
			for _, in := range p.Open {
				fits(t, s, in, first)
				s.Intents = append(s.Intents, in)
			}
			if len(s.Intents) == 0 {
				for _, r := range p.Reasons {
					if reason.Has(r.Why, "waits_return") || reason.Has(r.Why, "moves_taken") || reason.Has(r.Why, "moves_taken_user") {
						t.Fatalf("no job moves, and job %d %s\n%s\nfirst\n%s", r.Job, sentence(r.Why), story(s, a, where), first)
					}
				}
				return
			}
			if looks > 60 {
				t.Fatalf("no end\n%s\nfirst\n%s", story(s, a, where), first)
			}
			made := rapid.IntRange(0, len(s.Intents)-1).Draw(t, "made first")
			make_(&s, s.Intents[made])
		}
	})
}

// fits checks that a move just opened finds its GPUs free beside those that other open moves
// hold or are bound to.
func fits(t *rapid.T, s elastic.Snapshot, in elastic.Intent, first string) {
	free := map[string]int{}
	for _, n := range s.Nodes {
		free[n.Name] = n.GPUs - n.Used
	}
	for _, j := range s.Jobs {
		other, moving := s.Intent(j.ID)
		for _, share := range other.Target {
			if moving && j.ID != in.Job {
				free[share.Node] -= max(0, share.GPUs-j.Place.On(share.Node))
			}
		}
		for _, share := range in.Target {
			if j.ID == in.Job && share.GPUs-j.Place.On(share.Node) > free[share.Node] {
				t.Fatalf("job %d has no room on %s\nfirst\n%s", j.ID, share.Node, first)
			}
		}
	}
}

// make_ completes a move.
func make_(s *elastic.Snapshot, in elastic.Intent) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.ID != in.Job {
			continue
		}
		take(s, *j, j.Place, -1)
		take(s, *j, in.Target, 1)
		j.Place, j.Phase = in.Target, elastic.Running
		if len(in.Target) == 0 {
			j.Phase = elastic.Waiting
		}
	}
	s.Intents = slices.DeleteFunc(slices.Clone(s.Intents), func(o elastic.Intent) bool { return o.Job == in.Job })
}
