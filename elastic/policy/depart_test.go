package policy_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// departing returns a job of two GPUs on a node that it has to leave, and another node.
func departing(cause elastic.Cause) elastic.Snapshot {
	d := elastic.Departure{Node: "n1", Cause: cause, Name: "kernel update"}
	if cause == elastic.Maintenance {
		d.At = now.Add(3 * time.Minute)
	}
	return elastic.Snapshot{Now: now, Nodes: []nodes.Node{
		{Name: "n1", GPUs: 4, Used: 2, Partitions: []string{"gpu"}, Usable: cause == elastic.Maintenance},
		{Name: "n2", GPUs: 4, Partitions: []string{"gpu"}, Usable: true},
	}, Jobs: []elastic.Job{{
		ID: 1, Partition: "gpu", Phase: elastic.Running, Place: nodes.Placement{{Node: "n1", GPUs: 2}}, Speaks: true,
		Spec: elastic.Spec{Min: 1, Max: 2}, Departures: []elastic.Departure{d},
	}}}
}

// TestDepartures: a job leaves a drained node for idle GPUs, and stays if there are none;
// before maintenance it saves and waits instead.
func TestDepartures(t *testing.T) {
	full := func(s *elastic.Snapshot, left int) {
		s.Nodes[1].Used = 4 - left
		s.Others = map[string]int{"n2": 4 - left}
	}
	for name, c := range map[string]struct {
		change       func(*elastic.Snapshot)
		drain, maint int // GPUs on n2; -1 = it saves and waits, 0 = it stays
	}{
		"room":                  {func(*elastic.Snapshot) {}, 2, 2},
		"room for one":          {func(s *elastic.Snapshot) { full(s, 1) }, 1, 1},
		"no room":               {func(s *elastic.Snapshot) { full(s, 0) }, 0, -1},
		"pinned, room for one":  {func(s *elastic.Snapshot) { full(s, 1); s.Jobs[0].Directive.Pin = 2 }, 0, -1},
		"has not answered yet":  {func(s *elastic.Snapshot) { s.Jobs[0].Speaks = false }, 0, 0},
		"on slices":             {func(s *elastic.Snapshot) { s.Jobs[0].MIG = true }, 0, 0},
		"held where it is":      {func(s *elastic.Snapshot) { s.Jobs[0].UserHold = true }, 0, 0},
		"moved a moment ago":    {func(s *elastic.Snapshot) { s.Limits.Cooldown, s.Jobs[0].Moved = time.Hour, now }, 0, 2},
		"n2 is to be left, too": {func(s *elastic.Snapshot) { s.Nodes[1].Usable = false }, 0, -1},
		"idle GPUs that another would grow onto": {func(s *elastic.Snapshot) {
			s.Nodes[1].Used = 2
			s.Jobs = append(s.Jobs, elastic.Job{ID: 2, Partition: "gpu", Phase: elastic.Running, Place: nodes.Placement{{Node: "n2", GPUs: 2}}, Speaks: true, Spec: elastic.Spec{Min: 2, Max: 4}})
		}, 2, 2},
	} {
		for cause, want := range map[elastic.Cause]int{elastic.Draining: c.drain, elastic.Maintenance: c.maint} {
			s := departing(cause)
			c.change(&s)
			for _, p := range policy.All {
				d, want := p.Decide(s)[1], want
				if p.Rigid && name == "room for one" { // policies that do not change its size
					want = map[elastic.Cause]int{elastic.Draining: 0, elastic.Maintenance: -1}[cause]
				}
				got := d.Place.On("n2")
				if d.Leaves {
					got = -1
				}
				if got != want || want != 0 && !strings.Contains(sentence(d.Why), "kernel update") {
					t.Errorf("%s, %s, %s: %+v, want %d", name, cause, p.Name, d, want)
				}
				if want == 0 && cause == elastic.Draining && s.Jobs[0].Speaks && !s.Jobs[0].MIG && !s.Jobs[0].UserHold && !strings.Contains(sentence(d.Why), "n1 is draining (kernel update)") {
					t.Errorf("%s, %s: stays: %s", name, p.Name, sentence(d.Why))
				}
			}
		}
	}
}

// TestDepartingIsSound: in any state, no job is moved that may not be, none is moved onto a
// node to be left, all that are placed fit, and other running jobs lose nothing.
func TestDepartingIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snapshots(t)
		s.Edges = nil
		plain := s
		plain.Jobs = append([]elastic.Job(nil), s.Jobs...)
		node := rapid.SampledFrom(s.Nodes).Draw(t, "node").Name
		cause := rapid.SampledFrom([]elastic.Cause{elastic.Draining, elastic.Maintenance}).Draw(t, "cause")
		s.Nodes = append([]nodes.Node(nil), s.Nodes...)
		for i := range s.Nodes {
			s.Nodes[i].Usable = s.Nodes[i].Usable && s.Nodes[i].Name != node
		}
		plain.Nodes = s.Nodes
		for i := range s.Jobs {
			if s.Jobs[i].Phase == elastic.Running && s.Jobs[i].Place.On(node) > 0 {
				s.Jobs[i].Departures = []elastic.Departure{{Node: node, Cause: cause}}
			}
		}
		for _, p := range policy.All {
			a, was := p.Decide(s), p.Decide(plain)
			where, before := plan.Arrange(s, a), plan.Arrange(plain, was)
			for _, j := range s.Jobs {
				if !a[j.ID].Leaves {
					sound(t, p.Name, s, j, a, where)
				}
				_, moving := s.Intent(j.ID)
				to := where.Target[j.ID]
				switch {
				case len(j.Departures) == 0 && where.Park[j.ID] != before.Park[j.ID]:
					t.Fatalf("%s: job %d is stopped for others: %+v", p.Name, j.ID, a[j.ID])
				case len(j.Departures) == 0 && to.GPUs() < min(j.GPUs(), before.Target[j.ID].GPUs()):
					t.Fatalf("%s: job %d gets %v instead of %v", p.Name, j.ID, to, before.Target[j.ID])
				case len(j.Departures) > 0 && a[j.ID].Leaves && (cause != elastic.Maintenance || moving || !movesFreely(s, j)):
					t.Fatalf("%s: job %d is stopped: %+v", p.Name, j.ID, a[j.ID])
				case len(j.Departures) > 0 && !movesFreely(s, j) && !moving && !to.Equal(j.Place):
					t.Fatalf("%s: job %d is moved from %v to %v", p.Name, j.ID, j.Place, to)
				}
			}
			within(t, p.Name, s, apply(s, a))
		}
	})
}
