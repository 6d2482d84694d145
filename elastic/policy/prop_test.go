package policy_test

import (
	"reflect"
	"slices"
	"strings"
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

// apply carries out an allocation at once.
func apply(s elastic.Snapshot, a elastic.Allocation) elastic.Snapshot {
	where := plan.Arrange(s, a)
	out := s
	out.Nodes, out.Jobs = s.Foreign(), nil
	for _, j := range s.Jobs {
		if _, moving := s.Intent(j.ID); !moving {
			if target := where.Target[j.ID]; !target.Equal(j.Place) {
				j.Place, j.Phase, j.Speaks, j.Moved = target, elastic.Running, true, s.Now
			}
		}
		out.Nodes = nodes.With(out.Nodes, j.Load(j.Place))
		out.Jobs = append(out.Jobs, j)
	}
	return out
}

func TestAllocationsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		for _, p := range policy.All {
			a := p.Allocate(s)
			if !reflect.DeepEqual(a, p.Allocate(s)) {
				t.Fatalf("%s answers otherwise when asked again", p.Name)
			}
			where := plan.Arrange(s, a)
			for _, j := range s.Jobs {
				sound(t, p.Name, s, j, a, where)
			}
			within(t, p.Name, s, apply(s, a))
		}
	})
}

// No more GPUs of a type are allocated than a node has, and what is allocated can be placed.
func TestTypesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := twoTypes(t)
		s.Limits.Preempt = rapid.Bool().Draw(t, "preempt")
		for _, p := range policy.All {
			a := p.Allocate(s)
			where := plan.Arrange(s, a)
			for _, j := range s.Jobs {
				if d := a[j.ID]; d.GPUs > 0 && where.Target[j.ID].GPUs() != d.GPUs {
					t.Fatalf("%s: job %d gets %d on %v and is arranged as %v (%s)\n%s", p.Name, j.ID, d.GPUs, d.Place, where.Target[j.ID], reason.String(where.Unplaced[j.ID]), dump(s))
				}
			}
			next := apply(s, a)
			within(t, p.Name, s, next)
			for _, n := range s.Nodes {
				for _, of := range n.Types {
					had, has := 0, 0
					for i, j := range next.Jobs {
						if slices.Contains(j.Spec.Types, of.Type) {
							had, has = had+s.Committed(s.Jobs[i]).On(n.Name), has+j.Place.On(n.Name)
						}
					}
					if has > max(had, of.GPUs) {
						t.Fatalf("%s: %s gives %d of %d GPUs of type %s\n%s", p.Name, n.Name, has, of.GPUs, of.Type, dump(s))
					}
				}
			}
		}
	})
}

// rigid names the policies that never resize.
var rigid = map[string]bool{"fcfs": true, "ef": true, "tiresias": true}

// sound checks the decision about one job.
func sound(t *rapid.T, policy string, s elastic.Snapshot, j elastic.Job, a elastic.Allocation, where plan.Arrangement) {
	d, ok := a[j.ID]
	was := s.Committed(j).GPUs()
	_, moving := s.Intent(j.ID)
	mayMove := j.Phase == elastic.Running && j.Speaks && !j.LosesCheckpoints() && !j.UserHold && !j.Directive.Hold && !moving &&
		(s.Limits.DeafAfter == 0 || j.Deaf < s.Limits.DeafAfter)
	switch {
	case !ok || d.Why == nil:
		t.Fatalf("%s: job %d: no decision or reason: %+v", policy, j.ID, d)
	case d.GPUs == was:
		return
	case d.Leaves && d.GPUs == 0 && mayMove && onEdge(s, j):
		return
	case was > 0 && !mayMove:
		t.Fatalf("%s: job %d may not move, and goes from %d to %d", policy, j.ID, was, d.GPUs)
	case was > 0 && rigid[policy]:
		t.Fatalf("%s resizes job %d", policy, j.ID)
	case was == 0 && (j.Phase != elastic.Waiting || j.Directive.Hold):
		t.Fatalf("%s: job %d is not to be started, and gets %d", policy, j.ID, d.GPUs)
	case !j.Spec.Allows(d.GPUs, d.GPUs):
		t.Fatalf("%s: job %d does not accept %d of %+v", policy, j.ID, d.GPUs, j.Spec)
	case !inOne(s, j, where.Target[j.ID]):
		t.Fatalf("%s: job %d of %s is put on %v\n%s", policy, j.ID, j.Partition, where.Target[j.ID], dump(s))
	case where.Target[j.ID].GPUs() != d.GPUs:
		t.Fatalf("%s: job %d gets %d on %v and is arranged as %v (%s)\n%s\n%s", policy, j.ID, d.GPUs, d.Place, where.Target[j.ID], reason.String(where.Unplaced[j.ID]), dump(s), render(s, a))
	}
	if pin := j.Directive.Pin; pin > 0 && j.Spec.Allows(pin, pin) && d.GPUs != pin {
		t.Fatalf("%s: job %d is pinned to %d and gets %d", policy, j.ID, pin, d.GPUs)
	}
}

// Where jobs may be stopped, policies may skip and stop jobs, but move none that may not be
// moved, request nothing that cannot be placed, and stop changing things.
func TestPreemptionIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := snapshots(t)
		first.Limits.Preempt = true
		for _, p := range policy.All {
			s := first
			for looks := 0; ; looks++ {
				a := p.Allocate(s)
				where := plan.Arrange(s, a)
				for _, j := range s.Jobs {
					if a[j.ID].GPUs > 0 || s.Committed(j).GPUs() == 0 {
						sound(t, p.Name, s, j, a, where)
					} else if j.Phase != elastic.Running || !j.Speaks || j.UserHold || j.Directive.Hold || a[j.ID].Why == nil {
						t.Fatalf("%s: job %d may not be stopped: %+v", p.Name, j.ID, a[j.ID])
					}
				}
				next := stopped(apply(s, a), a)
				within(t, p.Name, s, next)
				if unchanged(s, a) {
					break
				}
				if looks > 8 {
					t.Fatalf("%s: still changing after %d looks\n%s", p.Name, looks, dump(first))
				}
				s = next
			}
		}
	})
}

// stopped makes the jobs wait that the allocation stops.
func stopped(s elastic.Snapshot, a elastic.Allocation) elastic.Snapshot {
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Phase == elastic.Running && a[j.ID].GPUs == 0 {
			j.Phase = elastic.Waiting
		}
	}
	return s
}

// within checks that no node is over-committed, and that no new job is on a node that takes
// none.
func within(t *rapid.T, policy string, before, after elastic.Snapshot) {
	for i, n := range after.Nodes {
		if n.Used > n.GPUs {
			t.Fatalf("%s: %s gives %d of %d", policy, n.Name, n.Used, n.GPUs)
		}
		if !n.Usable && n.Used > before.Nodes[i].Used {
			t.Fatalf("%s: %s is not usable and gets more", policy, n.Name)
		}
	}
}

// undated returns the snapshot without deadlines.
func undated(s elastic.Snapshot) elastic.Snapshot {
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Spec.Deadline, j.Spec.Soft, j.Promised = time.Time{}, false, false
	}
	return s
}

// TestOnlyAdmittedJobsOvertake: a job that starts before an earlier one that waits and could run
// there was admitted, or the earlier one waits for its planned start.
func TestOnlyAdmittedJobsOvertake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		for _, p := range policy.All {
			if p.Name != "lookahead" && p.Name != "annealing" {
				continue
			}
			a := p.Allocate(s)
			where := plan.Arrange(s, a)
			for i, first := range s.Jobs {
				dated := !first.Spec.Deadline.IsZero() && (a[first.ID].Promised || !first.Spec.Soft)
				if first.Phase != elastic.Waiting || first.Directive.Hold || a[first.ID].GPUs > 0 || dated || !startable(s, first) {
					continue
				}
				for _, j := range s.Jobs[i+1:] {
					if len(s.Committed(j)) > 0 || a[j.ID].GPUs == 0 || a[j.ID].Promised {
						continue
					}
					for _, n := range s.Nodes {
						if n.Usable && usableBy(s, first, n) && where.Target[j.ID].On(n.Name) > 0 {
							t.Fatalf("%s: job %d waits (%s), and job %d starts on %v (%s)\n%s", p.Name, first.ID, sentence(a[first.ID].Why), j.ID, where.Target[j.ID], sentence(a[j.ID].Why), dump(s))
						}
					}
				}
			}
		}
	})
}

// Strict first come, first served: a job that gets GPUs on nodes that an earlier, waiting job
// could use has overtaken it.
func TestNoJobOvertakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		for _, p := range policy.All {
			if p.Name == "deadline" || p.Name == "elasticflow" {
				continue // a job with a deadline may come first
			}
			if p.Dates {
				s = undated(s)
			}
			a := p.Allocate(s)
			where := plan.Arrange(s, a)
			for i, first := range s.Jobs {
				if first.Phase != elastic.Waiting || first.Directive.Hold || a[first.ID].GPUs > 0 || !startable(s, first) {
					continue
				}
				for k, j := range s.Jobs {
					was := s.Committed(j)
					if (k < i && len(was) == 0) || a[j.ID].GPUs <= was.GPUs() {
						continue
					}
					for _, n := range s.Nodes {
						if n.Usable && inAny(n, first) && where.Target[j.ID].On(n.Name) > was.On(n.Name) {
							t.Fatalf("%s: job %d waits (%s), and job %d gets %v", p.Name, first.ID, sentence(a[first.ID].Why), j.ID, where.Target[j.ID])
						}
					}
				}
			}
		}
	})
}

// TestNoJobOvertakesByOneGPU: a later job that could run elsewhere too does not take the one
// free GPU where an earlier job waits.
func TestNoJobOvertakesByOneGPU(t *testing.T) {
	s := elastic.Snapshot{
		Now: time.Unix(1e9, 0),
		Nodes: []nodes.Node{
			{Name: "n1", GPUs: 4, Used: 3, Usable: true, Partitions: []string{"fast"}},
			{Name: "n2", GPUs: 4, Used: 4, Usable: true, Partitions: []string{"gpu"}},
		},
		Jobs: []elastic.Job{
			{ID: 1, Phase: elastic.Waiting, Partition: "fast", Spec: elastic.Spec{Min: 2}, Speaks: true},
			{ID: 2, Phase: elastic.Waiting, Partition: "gpu,fast", Spec: elastic.Spec{Min: 1}, Speaks: true},
		},
	}
	for _, p := range policy.All {
		if a := p.Allocate(s); a[1].GPUs != 0 || a[2].GPUs != 0 {
			t.Errorf("%s: %+v", p.Name, a)
		}
	}
}

// TestDeadlineStartsThePinned: a policy that decides itself which jobs start also starts pinned
// ones, whose size it does not choose.
func TestDeadlineStartsThePinned(t *testing.T) {
	s := elastic.Snapshot{
		Now:   time.Unix(1e9, 0),
		Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Usable: true, Partitions: []string{"gpu"}}},
		Jobs:  []elastic.Job{{ID: 1, Phase: elastic.Waiting, Partition: "gpu", Spec: elastic.Spec{Min: 1}, Speaks: true, Directive: elastic.Directive{Pin: 2}}},
	}
	for _, p := range policy.All {
		if a := p.Allocate(s); a[1].GPUs != 2 {
			t.Errorf("%s: %+v", p.Name, a)
		}
	}
}

// startable reports whether the job could start on an empty cluster.
func startable(s elastic.Snapshot, j elastic.Job) bool {
	empty := elastic.Snapshot{}
	for _, n := range s.Nodes {
		n.Used, n.CPUsUsed = 0, 0
		empty.Nodes = append(empty.Nodes, n)
	}
	want := j.Spec.Min
	if pin := j.Directive.Pin; pin > 0 && j.Spec.Allows(pin, pin) {
		want = pin
	}
	return placed(empty, j, want) != nil
}

// usableBy reports whether the job could start on nodes of one of the node's partitions, if all
// were empty: a single node of an edge pool is of no use to a larger job.
func usableBy(s elastic.Snapshot, j elastic.Job, n nodes.Node) bool {
	return slices.ContainsFunc(strings.Split(j.Partition, ","), func(p string) bool {
		within := elastic.Snapshot{Limits: s.Limits, Edges: s.Edges}
		for _, other := range s.Nodes {
			if other.In(p) {
				within.Nodes = append(within.Nodes, other)
			}
		}
		return n.In(p) && startable(within, j)
	})
}

// inOne reports whether all nodes are in one of the job's partitions.
func inOne(s elastic.Snapshot, j elastic.Job, at nodes.Placement) bool {
	return slices.ContainsFunc(strings.Split(j.Partition, ","), func(p string) bool {
		return !slices.ContainsFunc(s.Nodes, func(n nodes.Node) bool { return at.On(n.Name) > 0 && !n.In(p) })
	})
}

func inAny(n nodes.Node, j elastic.Job) bool {
	for _, p := range strings.Split(j.Partition, ",") {
		if n.In(p) {
			return true
		}
	}
	return false
}

// Growth does not keep out an ordinary job that could start before the decision, or could if
// running jobs gave back what they may.
func TestGrowthYields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		if len(s.Demands) == 0 {
			t.Skip()
		}
		s.Demands = s.Demands[:1]
		for _, j := range s.Jobs {
			if j.Phase == elastic.Waiting || j.Directive.Pin > 0 {
				t.Skip() // a first GPU is not growth, and orders are carried out
			}
		}
		d := s.Demands[0]
		want := []nodes.Want{d.Want()}
		_, before := nodes.Reserve(s.Nodes, want)
		for _, name := range []string{"lookahead", "annealing"} {
			p, _ := policy.ByName(name)
			a := p.Allocate(s)
			_, after := nodes.Reserve(apply(s, a).Nodes, want)
			if before[0] && !after[0] {
				t.Fatalf("%s: %+v could start, and then not\n%s\n%s", name, d, dump(s), render(s, a))
			}
			for _, j := range s.Jobs {
				if !after[0] && a[j.ID].GPUs < s.Committed(j).GPUs() && strings.Contains(sentence(a[j.ID].Why), "ordinary job") {
					t.Fatalf("%s: job %d gives GPUs back for %+v in vain\n%s\n%s", name, j.ID, d, dump(s), render(s, a))
				}
			}
		}
	})
}

// Asked again after its answer was carried out, with nothing else changed, a policy stops
// changing things soon. If nodes, partitions and pins leave gaps it may take a few rounds.
func TestAllocationsComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := snapshots(t)
		for _, p := range policy.All {
			s := first
			for looks := 0; ; looks++ {
				a := p.Allocate(s)
				if unchanged(s, a) {
					break
				}
				if looks > 5 {
					t.Fatalf("%s: still changing after %d looks\n%s", p.Name, looks, dump(first))
				}
				s = apply(s, a)
			}
		}
	})
}

// redivides names the policies that divide everything anew in every round, and take back what a
// job kept while another had no place. lookahead and annealing do so if they find a better
// division than before: lookahead once in a thousand clusters.
var redivides = map[string]bool{"lookahead": true, "annealing": true, "welfare": true, "optimus": true, "afs": true, "srpt": true, "maxspeedup": true,
	"deadline": true, "elasticflow": true, "edf": true}

// On equal nodes, with jobs that accept every size and split, no allocation is taken back
// unless a new job arrives, or the job was measured to be faster on fewer GPUs.
func TestAllocationsAreNotTakenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := equal(t)
		for _, p := range policy.All {
			if redivides[p.Name] {
				continue
			}
			next := apply(s, p.Allocate(s))
			a := p.Allocate(next)
			for _, j := range next.Jobs {
				if now, then := next.Committed(j).GPUs(), a[j.ID].GPUs; then < now && !fasterOn(j, then, now) {
					t.Fatalf("%s\n%s\n%s\nand then\n%s", p.Name, dump(s), render(s, p.Allocate(s)), render(next, a))
				}
			}
		}
	})
}

// fasterOn reports whether a job was measured to be faster on fewer GPUs, on one node.
func fasterOn(j elastic.Job, fewer, now int) bool {
	less, by := j.Curve.Seconds(speed.Shape{GPUs: fewer, Nodes: 1})
	more, of := j.Curve.Seconds(speed.Shape{GPUs: now, Nodes: 1})
	return by == speed.Measured && of == speed.Measured && less < more
}

func unchanged(s elastic.Snapshot, a elastic.Allocation) bool {
	for _, j := range s.Jobs {
		if a[j.ID].GPUs != s.Committed(j).GPUs() {
			return false
		}
	}
	return true
}
