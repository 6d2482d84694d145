package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawCaps puts limits on a cluster: on some of its jobs, above or below what these
// have already.
func drawCaps(t *rapid.T, s *elastic.Snapshot) {
	for k := range rapid.IntRange(1, 4).Draw(t, "caps") {
		c := elastic.Cap{
			Name: fmt.Sprintf("limit %d", k+1), Jobs: map[elastic.JobID]bool{},
			Of:   rapid.SampledFrom([]elastic.Resource{elastic.GPUs, elastic.GPUs, elastic.CPUs, elastic.Nodes, elastic.Jobs}).Draw(t, "of"),
			Most: rapid.IntRange(0, 12).Draw(t, "most"), Others: rapid.IntRange(0, 3).Draw(t, "others"),
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			c.Each = true
		case 1:
			c.Each, c.Node = true, true
		case 2:
			c.Least, c.Of, c.Most = true, elastic.GPUs, rapid.IntRange(1, 3).Draw(t, "least")
		}
		for _, j := range s.Jobs {
			c.Jobs[j.ID] = rapid.IntRange(0, 3).Draw(t, "concerned") > 0
		}
		s.Caps = append(s.Caps, c)
	}
}

// amount is what a job takes of a cap at a place, counted anew.
func amount(c elastic.Cap, j elastic.Job, at nodes.Placement) int {
	most := 0
	for _, share := range at {
		most = max(most, share.GPUs)
	}
	switch {
	case len(at) == 0:
		return 0
	case c.Of == elastic.GPUs && c.Node:
		return most
	case c.Of == elastic.GPUs:
		return at.GPUs()
	case c.Of == elastic.CPUs:
		return max(len(at), at.GPUs()*j.Spec.CPUsPerGPU)
	case c.Of == elastic.Nodes:
		return len(at)
	}
	return 1
}

// Whatever the policy: no plan takes a job, or a group of jobs, to where a limit
// forbids it, at any moment while its moves are on the way. Jobs beyond a limit that
// do not move are left as they are.
func TestNoPlanExceedsACap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		s.Limits.Preempt = rapid.IntRange(0, 3).Draw(t, "preempt") == 0
		drawCaps(t, &s)
		for _, p := range policy.All {
			a := p.Decide(s)
			plan := elastic.Reconcile(s, a, elastic.Arrange(s, a))
			target := map[elastic.JobID]nodes.Placement{}
			for _, in := range plan.Open {
				target[in.Job] = in.Target
			}
			for _, c := range s.Caps {
				kept(t, p.Name, s, c, target)
			}
		}
	})
}

func kept(t *rapid.T, policy string, s elastic.Snapshot, c elastic.Cap, target map[elastic.JobID]nodes.Placement) {
	sum, grows := c.Others, false
	for _, j := range s.Jobs {
		if !c.Jobs[j.ID] {
			continue
		}
		to, moves := target[j.ID]
		n, has := amount(c, j, to), max(amount(c, j, j.Place), amount(c, j, s.Committed(j)))
		sum += max(n, has)
		grows = grows || moves && n > has
		switch {
		case !moves || len(to) == 0:
		case c.Least && n < c.Most, (c.Each || c.Node) && !c.Least && n > c.Most:
			t.Fatalf("%s: job %d goes to %v against %+v\n%s", policy, j.ID, to, c, dump(s))
		}
	}
	if grows && !c.Each && !c.Least && sum > c.Most {
		t.Fatalf("%s: the jobs take %d of %+v: %v\n%s", policy, sum, c, target, dump(s))
	}
}

// A limit below what jobs have moves nobody by itself: with nobody waiting within it,
// who is beyond it keeps what he has.
func TestACapAloneMovesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := plain(t)
		for i := range s.Jobs {
			if s.Jobs[i].Phase == elastic.Held {
				t.Skip()
			}
			s.Jobs[i].Directive.Pin = 0
		}
		all, used := map[elastic.JobID]bool{}, 0
		for _, j := range s.Jobs {
			all[j.ID] = true
			used += max(j.GPUs(), s.Committed(j).GPUs())
		}
		free := policy.All[0].Decide(s)
		s.Caps = []elastic.Cap{{Name: "limit", Of: elastic.GPUs, Most: rapid.IntRange(0, 4).Draw(t, "most"), Jobs: all, Each: rapid.Bool().Draw(t, "each")}}
		a := policy.All[0].Decide(s)
		for _, j := range s.Jobs {
			if was := s.Committed(j).GPUs(); a[j.ID].GPUs < was && free[j.ID].GPUs >= was && used > s.Caps[0].Most && !s.Caps[0].Each {
				t.Fatalf("job %d goes from %d to %d: %s\n%s", j.ID, was, a[j.ID].GPUs, a[j.ID].Why, dump(s))
			}
		}
	})
}

// group is a cap on the GPUs of the jobs named together.
func group(most, others int, ids ...elastic.JobID) elastic.Cap {
	c := elastic.Cap{Name: fmt.Sprintf("GrpTRES=gres/gpu=%d of account phys", most), Of: elastic.GPUs, Most: most, Others: others, Jobs: map[elastic.JobID]bool{}}
	for _, id := range ids {
		c.Jobs[id] = true
	}
	if others > 0 {
		c.Users = []string{fmt.Sprintf("job 77 of bob has %d", others)}
	}
	return c
}

// capScene is a cluster of two nodes with jobs of one account.
func capScene(jobs ...elastic.Job) elastic.Snapshot {
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{}}
	for _, name := range []string{"n1", "n2"} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: name, GPUs: 4, Usable: true, Partitions: []string{"gpu"}})
	}
	for _, j := range jobs {
		j.Partition, j.User, j.Speaks = "gpu", "alice", true
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func held(id elastic.JobID, least, most int) elastic.Job {
	return elastic.Job{ID: id, Phase: elastic.Held, Spec: elastic.Spec{Min: least, Max: most}}
}

func on(id elastic.JobID, most int, place ...nodes.Share) elastic.Job {
	return elastic.Job{ID: id, Phase: elastic.Running, Spec: elastic.Spec{Min: 1, Max: most}, Place: place}
}

func TestDecisionsWithinCaps(t *testing.T) {
	n1 := func(n int) nodes.Share { return nodes.Share{Node: "n1", GPUs: n} }
	n2 := func(n int) nodes.Share { return nodes.Share{Node: "n2", GPUs: n} }
	for _, tc := range []struct {
		name string
		jobs []elastic.Job
		caps []elastic.Cap
		want map[elastic.JobID]int
		say  map[elastic.JobID]string
	}{
		{"one job starts up to the limit", []elastic.Job{held(1, 1, 4)}, []elastic.Cap{group(2, 0, 1)},
			map[elastic.JobID]int{1: 2}, map[elastic.JobID]string{1: "no more within GrpTRES=gres/gpu=2 of account phys (nobody has any)"}},
		{"ordinary jobs count", []elastic.Job{held(1, 1, 4)}, []elastic.Cap{group(4, 3, 1)},
			map[elastic.JobID]int{1: 1}, map[elastic.JobID]string{1: "(job 77 of bob has 3)"}},
		{"two share what there is", []elastic.Job{held(1, 1, 8), held(2, 1, 8)}, []elastic.Cap{group(4, 0, 1, 2)}, map[elastic.JobID]int{1: 2, 2: 2}, nil},
		{"who is below its minimum waits, others do not wait for it", []elastic.Job{held(1, 3, 4), held(2, 1, 2)}, []elastic.Cap{group(4, 2, 1)},
			map[elastic.JobID]int{1: 0, 2: 2}, map[elastic.JobID]string{1: "waits for 3 GPUs: within GrpTRES=gres/gpu=4 of account phys (job 77 of bob has 2)"}},
		{"a running job gives back for one that waits", []elastic.Job{on(1, 4, n1(4)), held(2, 1, 4)}, []elastic.Cap{group(4, 0, 1, 2)},
			map[elastic.JobID]int{1: 3, 2: 0}, map[elastic.JobID]string{1: "shrinks 4 -> 3: another job waits within GrpTRES=gres/gpu=4"}},
		{"the next one starts before anybody grows", []elastic.Job{on(1, 4, n1(3)), held(2, 1, 4)}, []elastic.Cap{group(4, 0, 1, 2)}, map[elastic.JobID]int{1: 3, 2: 1}, nil},
		{"a lowered limit leaves a running job alone", []elastic.Job{on(1, 8, n1(4))}, []elastic.Cap{group(2, 0, 1)}, map[elastic.JobID]int{1: 4}, nil},
		{"each alone", []elastic.Job{held(1, 1, 8), held(2, 1, 8)}, []elastic.Cap{{Name: "MaxTRES=gres/gpu=2 of QOS q", Of: elastic.GPUs, Most: 2, Each: true, Jobs: map[elastic.JobID]bool{1: true}}},
			map[elastic.JobID]int{1: 2, 2: 4}, nil},
		{"number of jobs", []elastic.Job{on(1, 1, n2(1)), held(2, 1, 1)}, []elastic.Cap{{Name: "GrpJobs=1 of account phys", Of: elastic.Jobs, Most: 1, Jobs: map[elastic.JobID]bool{1: true, 2: true}}},
			map[elastic.JobID]int{1: 1, 2: 0}, map[elastic.JobID]string{2: "within GrpJobs=1 of account phys (job 1 of alice has 1)"}},
		{"at least", []elastic.Job{held(1, 1, 8)}, []elastic.Cap{{Name: "MinTRES", Of: elastic.GPUs, Most: 3, Least: true, Jobs: map[elastic.JobID]bool{1: true}}, group(3, 0, 1)}, map[elastic.JobID]int{1: 3}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := capScene(tc.jobs...)
			s.Caps = tc.caps
			a := policy.All[0].Decide(s)
			for id, want := range tc.want {
				if a[id].GPUs != want || !strings.Contains(a[id].Why, tc.say[id]) {
					t.Errorf("job %d gets %d, want %d: %s", id, a[id].GPUs, want, a[id].Why)
				}
			}
		})
	}
}

// BenchmarkCaps is a decision on 2000 jobs of 100 accounts, each with a limit, beside
// the same without limits.
func BenchmarkCaps(b *testing.B) {
	s := elastic.Snapshot{Now: now}
	for i := range 500 {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 8, Usable: true, Partitions: []string{"gpu"}})
	}
	for i := range 2000 {
		j := elastic.Job{ID: elastic.JobID(i + 1), Phase: elastic.Held, Partition: "gpu", Spec: elastic.Spec{Min: 1, Max: 8}}
		if i < 1500 {
			j.Phase, j.Speaks, j.Place = elastic.Running, true, nodes.Placement{{Node: s.Nodes[i%500].Name, GPUs: 1}}
			s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		}
		s.Jobs = append(s.Jobs, j)
	}
	for _, with := range []bool{false, true} {
		t := s
		for k := 0; with && k < 100; k++ {
			c := group(25, 0)
			for i := k; i < 2000; i += 100 {
				c.Jobs[elastic.JobID(i+1)] = true
			}
			t.Caps = append(t.Caps, c)
		}
		b.Run(fmt.Sprintf("limits=%v", with), func(b *testing.B) {
			for range b.N {
				a := policy.All[0].Decide(t)
				elastic.Reconcile(t, a, elastic.Arrange(t, a))
			}
		})
	}
}
