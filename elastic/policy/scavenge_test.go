package policy_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/nodes"
)

// scavenging makes some jobs of a snapshot scavengers, which were started some time ago.
func scavenging(t *rapid.T, s elastic.Snapshot) elastic.Snapshot {
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; rapid.Bool().Draw(t, "scavenger") {
			j.Scavenger, j.QOS = true, "low"
			if len(j.Place) > 0 {
				j.Started = now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "ran")) * 30 * time.Second)
			}
		}
	}
	return s
}

// stops reports whether a decision parks a job that runs.
func stops(s elastic.Snapshot, a elastic.Allocation, j elastic.Job) bool {
	d, named := a[j.ID]
	_, moving := s.Intent(j.ID)
	return named && d.GPUs == 0 && !moving && j.Phase == elastic.Running && j.GPUs() > 0
}

// without returns the snapshot without some jobs, whose GPUs are idle.
func without(s elastic.Snapshot, gone func(elastic.Job) bool) elastic.Snapshot {
	var jobs []elastic.Job
	for _, j := range s.Jobs {
		if !gone(j) {
			jobs = append(jobs, j)
			continue
		}
		s.Nodes = nodes.Without(s.Nodes, j.Load(j.Place))
	}
	s.Jobs = jobs
	return s
}

// Without preempt no decision depends on which jobs are scavengers.
func TestScavengersKeepTheirMinimumWithoutPreempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scavenging(t, snapshots(t))
		plain := s
		plain.Jobs = slices.Clone(s.Jobs)
		for i := range plain.Jobs {
			plain.Jobs[i].Scavenger = false
		}
		for _, p := range policy.All {
			if a := p.Decide(s); !reflect.DeepEqual(a, p.Decide(plain)) {
				t.Fatalf("%s: decides otherwise\n%s\n%s", p.Name, dump(s), render(s, a))
			}
		}
	})
}

// With preempt, of all policies: a scavenger is parked only if it may be, and only for jobs that start;
// no other job is stopped that would not be without scavengers; and the decisions come to rest.
func TestScavengersAreParkedFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := scavenging(t, snapshots(t))
		first.Limits.Preempt = true
		first.Edges = nil // which jobs leave, and others may enter, in turns
		first.Limits.Overload = rapid.SampledFrom([]float64{0, 0, 0.5, 1}).Draw(t, "overload")
		for _, p := range policy.All {
			s := first
			for looks := 0; ; looks++ {
				a := p.Decide(s)
				if !reflect.DeepEqual(a, p.Decide(s)) {
					t.Fatalf("%s: decides otherwise when asked again\n%s", p.Name, dump(s))
				}
				parkedSoundly(t, p, s, a)
				next := stopped(apply(s, a), a)
				within(t, p.Name, s, next)
				// An edge's node is started on and left again while an ordinary job waits for it
				// that never starts, as here.
				if unchanged(s, a) || len(s.Edges) > 0 {
					break
				}
				if looks > 12 {
					t.Fatalf("%s: still changing after %d looks\n%s\n%s", p.Name, looks, dump(first), render(s, a))
				}
				s = next
			}
		}
	})
}

// parkedSoundly checks which jobs one decision stops.
func parkedSoundly(t *rapid.T, p policy.Policy, s elastic.Snapshot, a elastic.Allocation) {
	where := plan.Arrange(s, a)
	parkable := roles.Parkable(&s)
	if parkable == nil {
		parkable = func(*elastic.Job) bool { return false }
	}
	others := false
	for _, j := range s.Jobs {
		d := a[j.ID]
		if d.Why == nil {
			t.Fatalf("%s: job %d has no reason\n%s", p.Name, j.ID, dump(s))
		}
		switch stop, isStop := d.Why.(reason.Stops); {
		case !stops(s, a, j) || d.Leaves:
		case !j.Speaks || j.LosesCheckpoints() || j.UserHold || j.Directive.Hold:
			t.Fatalf("%s: job %d may not be stopped: %s\n%s", p.Name, j.ID, reason.String(d.Why), dump(s))
		case !j.Scavenger:
			others = true
		case isStop:
			y, yields := stop.Because.(reason.Yields)
			if yields && !parkable(&j) {
				t.Fatalf("%s: job %d may not be parked\n%s\n%s", p.Name, j.ID, dump(s), render(s, a))
			}
			if yields && where.Target[elastic.JobID(y.Job)] == nil && !stopsJob(s, a, elastic.JobID(y.Job)) {
				t.Fatalf("%s: job %d is parked for job %d, which gets nothing\n%s\n%s", p.Name, j.ID, y.Job, dump(s), render(s, a))
			}
		}
	}
	if !others {
		return
	}
	// What would it stop if those scavengers did not exist that share nodes with what it stops? Some
	// other job too.
	fewer := without(s, func(j elastic.Job) bool {
		return j.Scavenger && (j.Phase == elastic.Waiting || parkable(&j) && (yieldsTo(a[j.ID]) || !stops(s, a, j) && sharesWithStopped(s, a, j)))
	})
	b := p.Decide(fewer)
	if !slices.ContainsFunc(fewer.Jobs, func(j elastic.Job) bool { return !j.Scavenger && stops(fewer, b, j) && !b[j.ID].Leaves }) && len(s.Edges) == 0 {
		t.Fatalf("%s: stops jobs of others before scavengers\n%s\n%s\n%s", p.Name, dump(s), render(s, a), render(fewer, b))
	}
}

// sharesWithStopped reports whether a job has GPUs on nodes of a job of others that an answer stops.
func sharesWithStopped(s elastic.Snapshot, a elastic.Allocation, j elastic.Job) bool {
	return slices.ContainsFunc(s.Jobs, func(k elastic.Job) bool { return !k.Scavenger && stops(s, a, k) && sharesNodes(s, j.Place, k) })
}

func yieldsTo(d elastic.Decision) bool {
	stop, _ := d.Why.(reason.Stops)
	_, yields := stop.Because.(reason.Yields)
	return yields
}

func stopsJob(s elastic.Snapshot, a elastic.Allocation, id elastic.JobID) bool {
	return slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool { return j.ID == id && stops(s, a, j) })
}

// The first job of others that waits is started as soon as that is possible: with the GPUs that are
// idle, those above minimums, and those of the scavengers that may be parked it has too few.
func TestNoneWaitsForAScavenger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scavenging(t, flat(t))
		for i := range s.Jobs {
			if j := &s.Jobs[i]; len(j.Place) == 0 {
				j.Spec.Min = rapid.IntRange(1, 6).Draw(t, "min")
				j.Spec.Max = 0
			}
		}
		s.Limits.Preempt = true
		s.Limits.Cooldown = time.Minute
		for _, p := range policy.All {
			a := p.Decide(s)
			free := parkableGPUs(s, a)
			for _, j := range s.Jobs {
				if j.Scavenger || j.Phase != elastic.Waiting {
					continue
				}
				if a[j.ID].GPUs == 0 && j.Spec.Min <= free {
					t.Fatalf("%s: job %d waits for %d of %d GPUs that scavengers have\n%s\n%s", p.Name, j.ID, j.Spec.Min, free, dump(s), render(s, a))
				}
				break
			}
		}
	})
}

// The same within shares: once the decisions have come to rest, the first job of others does not wait if
// its user may have its minimum and scavengers could be parked for it.
func TestNoneWaitsForAScavengerWithinShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := scavenging(t, flat(t))
		for i := range first.Jobs {
			if j := &first.Jobs[i]; len(j.Place) == 0 {
				j.Spec.Min, j.Spec.Max = rapid.IntRange(1, 6).Draw(t, "min"), 0
			}
		}
		first.Limits.Preempt = true
		tree := drawShares(t, &first)
		for _, name := range []string{"lookahead", "knapsack", "fcfs"} {
			p, _ := policy.ByName(name)
			s := first
			for looks := 0; ; looks++ {
				with, claims := claimed(t, s, tree, p)
				a := p.Decide(with)
				if next := stopped(apply(s, a), a); !unchanged(s, a) {
					if s = next; looks > 16 {
						t.Fatalf("%s: still changing\n%s\n%s", name, dump(first), render(s, a))
					}
					continue
				}
				if x, c := firstWaiting(s, a, claims); x != nil && given(a, c)+x.Spec.Min <= c.Bound && x.Spec.Min <= parkableGPUs(s, a) {
					t.Fatalf("%s: job %d of %s@%s waits, which may have %d\n%s\n%s", name, x.ID, c.User, c.Account, c.Bound, dump(s), render(s, a))
				}
				break
			}
		}
	})
}

// firstWaiting returns the first job of others that waits, and its claim.
func firstWaiting(s elastic.Snapshot, a elastic.Allocation, claims claim.Claims) (*elastic.Job, claim.Claim) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Scavenger || j.Phase != elastic.Waiting || a[j.ID].GPUs > 0 {
			continue
		}
		for _, c := range claims.Each {
			if slices.Contains(c.Jobs, j.ID) {
				return j, c
			}
		}
	}
	return nil, claim.Claim{}
}

// parkableGPUs returns the GPUs that are idle in an answer, or that scavengers have which may be parked.
func parkableGPUs(s elastic.Snapshot, a elastic.Allocation) int {
	free := s.Nodes[0].GPUs - used(a)
	if parkable := roles.Parkable(&s); parkable != nil {
		for i := range s.Jobs {
			if parkable(&s.Jobs[i]) {
				free += a[s.Jobs[i].ID].GPUs
			}
		}
	}
	return free
}

func used(a elastic.Allocation) (n int) {
	for _, d := range a {
		n += d.GPUs
	}
	return n
}

// A scavenger that waits does not take GPUs that a job of others waits for, unless that delays none
// (backfill).
func TestScavengersWaitForOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scavenging(t, snapshots(t))
		s.Limits.Preempt = true
		for _, p := range policy.All {
			a := p.Decide(s)
			where := plan.Arrange(s, a)
			for _, j := range s.Jobs {
				at := where.Target[j.ID]
				if !j.Scavenger || j.Phase != elastic.Waiting || len(at) == 0 || s.Committed(j) != nil || backfilled(a[j.ID]) {
					continue
				}
				for _, x := range s.Jobs {
					if x.Scavenger || !roles.Startable(&s, &x) || len(where.Target[x.ID]) > 0 {
						continue
					}
					if fits := placed(without(s, func(k elastic.Job) bool { return k.Scavenger && len(k.Place) == 0 }), x, roles.LeastOf(&x)); fits != nil {
						continue // it does not wait for GPUs
					}
					if gets := placed(onlyIdle(s), x, roles.LeastOf(&x)); gets != nil && sharesNodes(s, at, x) {
						t.Fatalf("%s: job %d starts on %v before job %d\n%s\n%s", p.Name, j.ID, at, x.ID, dump(s), render(s, a))
					}
				}
			}
		}
	})
}

func backfilled(d elastic.Decision) bool {
	starts, _ := d.Why.(reason.Starts)
	_, is := starts.Because.(reason.Backfilled)
	return is
}

// onlyIdle returns the snapshot with all GPUs idle.
func onlyIdle(s elastic.Snapshot) elastic.Snapshot {
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		s.Nodes[i] = s.Nodes[i].Empty()
	}
	return s
}

func sharesNodes(s elastic.Snapshot, at nodes.Placement, x elastic.Job) bool {
	return slices.ContainsFunc(s.Nodes, func(n nodes.Node) bool { return at.On(n.Name) > 0 && n.InAny(x.Partition) })
}
