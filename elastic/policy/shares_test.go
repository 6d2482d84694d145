package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/nodes"
)

// paths are the ways in which shares are applied, by how many bind: few, and so many that each is divided
// before the policy is asked.
var paths = map[string]func(policy.Policy, elastic.Snapshot) elastic.Allocation{
	"few":  policy.Policy.Asking,
	"many": policy.Policy.AtOnce,
}

// drawShares gives the jobs accounts and users, and returns the tree of their shares.
func drawShares(t *rapid.T, s *elastic.Snapshot) *share.Tree {
	var list []share.Association
	for i := range 3 {
		list = append(list, share.Association{Account: fmt.Sprintf("a%d", i), Shares: float64(rapid.SampledFrom([]int{0, 1, 1, 2, 7}).Draw(t, "shares"))})
	}
	tree, err := share.New(list)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Account, j.User = fmt.Sprintf("a%d", rapid.IntRange(0, 2).Draw(t, "account")), fmt.Sprintf("u%d", rapid.IntRange(0, 1).Draw(t, "user"))
	}
	return tree
}

// claimed returns the snapshot with the caps that its shares make for a policy.
func claimed(t *rapid.T, s elastic.Snapshot, tree *share.Tree, p policy.Policy) (elastic.Snapshot, claim.Claims) {
	c, err := claim.Of(tree, &s, nil, p.RigidIn, map[string]share.QOS{"low": {Scavenger: true}})
	if err != nil {
		t.Fatal(err)
	}
	s.Caps = c.Caps()
	return s, c
}

// With shares every policy keeps what it keeps without: no job is given a size or a place that it
// does not accept, none that may not move is moved, and started jobs keep their minimum.
func TestSharesKeepAllPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := snapshots(t)
		tree := drawShares(t, &first)
		for _, p := range policy.All {
			s, _ := claimed(t, first, tree, p)
			for path, decide := range paths {
				a := decide(p, s)
				where := plan.Arrange(s, a)
				for _, j := range s.Jobs {
					if d := a[j.ID]; d.GPUs != s.Committed(j).GPUs() && !d.Leaves {
						sound(t, p.Name, s, j, a, where)
					}
					if d := a[j.ID]; d.Why == nil {
						t.Fatalf("%s, %s: job %d has no reason", p.Name, path, j.ID)
					}
				}
				within(t, p.Name, s, apply(s, a))
			}
		}
	})
}

// flat draws one large node, jobs that accept every size and gain by every GPU, and moves that cost
// nothing: here whole GPUs are all that limits a division.
func flat(t *rapid.T) elastic.Snapshot {
	s := elastic.Snapshot{Now: now, Nodes: []nodes.Node{{Name: "n1", GPUs: rapid.IntRange(1, 24).Draw(t, "gpus"), Usable: true, Partitions: []string{"gpu"}}}}
	for i := range rapid.IntRange(0, 8).Draw(t, "jobs") {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Phase: elastic.Waiting, Speaks: true, Spec: elastic.Spec{Min: 1, AllowUneven: true, Total: 1000}}
		if rapid.Bool().Draw(t, "bounded") {
			j.Spec.Max = rapid.IntRange(1, 12).Draw(t, "max")
		}
		free := s.Nodes[0].GPUs - s.Nodes[0].Used
		if n := rapid.IntRange(0, 8).Draw(t, "has"); n > 0 && n <= free && (j.Spec.Max == 0 || n <= j.Spec.Max) {
			j.Phase, j.Place = elastic.Running, nodes.Placement{{Node: "n1", GPUs: n}}
			s.Nodes = nodes.With(s.Nodes, j.Load(j.Place))
			j.Speaks = rapid.IntRange(0, 5).Draw(t, "speaks") > 0
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// Nobody borrows what another is waiting for: no user has more than its bound while a job of
// another waits that would be within its own.
func TestNoneBorrowsWhatOthersDeserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := flat(t)
		tree := drawShares(t, &first)
		for _, p := range policy.All {
			s, claims := claimed(t, first, tree, p)
			for path, decide := range paths {
				noneBorrowed(t, p.Name+", "+path, s, decide(p, s), claims)
			}
		}
	})
}

func noneBorrowed(t *rapid.T, name string, s elastic.Snapshot, a elastic.Allocation, claims claim.Claims) {
	for _, above := range claims.Each {
		lent := given(a, above) - above.Bound
		if lent <= 0 {
			continue
		}
		for _, below := range claims.Each {
			if given(a, below) < below.Bound && waiting(s, a, below) {
				t.Fatalf("%s: %s@%s has %d GPUs beyond %d, and a job of %s@%s waits, which has %d of %d\n%s\n%s", name,
					above.User, above.Account, lent, above.Bound, below.User, below.Account, given(a, below), below.Bound, dump(s), render(s, a))
			}
		}
	}
}

func given(a elastic.Allocation, c claim.Claim) (n int) {
	for _, id := range c.Jobs {
		n += a[id].GPUs
	}
	return n
}

func waiting(s elastic.Snapshot, a elastic.Allocation, c claim.Claim) bool {
	for _, j := range s.Jobs {
		if j.Phase == elastic.Waiting && j.User == c.User && j.Account == c.Account && a[j.ID].GPUs == 0 {
			return true
		}
	}
	return false
}

// settled carries decisions out until nothing changes; without a tree they know no shares.
func settled(t *rapid.T, s elastic.Snapshot, tree *share.Tree, p policy.Policy, path string) (elastic.Snapshot, claim.Claims) {
	for range 8 {
		with, claims := s, claim.Claims{}
		if tree != nil {
			with, claims = claimed(t, s, tree, p)
		}
		a := paths[path](p, with)
		if unchanged(s, a) {
			return with, claims
		}
		s = apply(s, a)
	}
	t.Fatalf("%s, %s: still changing\n%s", p.Name, path, dump(s))
	return s, claim.Claims{}
}

// Where moves cost nothing and sizes are free, each user comes to have what it deserves under
// policies that use all GPUs, and nothing is idle that would be used without shares.
func TestUsersGetWhatTheyDeserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := flat(t)
		tree := drawShares(t, &first)
		for _, name := range []string{"lookahead", "knapsack"} {
			p, _ := policy.ByName(name)
			free, _ := settled(t, first, nil, p, "few")
			for path := range paths {
				s, claims := settled(t, first, tree, p, path)
				if s.Nodes[0].Used < free.Nodes[0].Used {
					t.Fatalf("%s, %s: %d GPUs are used, and %d without shares\n%s", name, path, s.Nodes[0].Used, free.Nodes[0].Used, dump(s))
				}
				for _, c := range claims.Each {
					for _, other := range claims.Each {
						if c.Has > c.Bound && other.Has < other.Bound {
							t.Fatalf("%s, %s: %s@%s has %d of %d, %s@%s %d of %d\n%s", name, path, c.User, c.Account, c.Has, c.Bound, other.User, other.Account, other.Has, other.Bound, dump(s))
						}
					}
				}
			}
		}
	})
}

// A decision within shares comes to rest: made again after it was carried out, nothing changes.
func TestSharesComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := flat(t)
		tree := drawShares(t, &s)
		for _, p := range policy.All {
			for path := range paths {
				settled(t, s, tree, p, path)
			}
		}
	})
}

// A job that waits, and could not start within its user's share, keeps no GPUs from others, and starts if they
// are idle: no account has more than its bound while another one, of which no job waits, has less and could grow. Jobs have
// minimums here that a share may not hold.
func TestNoneWaitsBeyondItsShareForGPUsOfOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := flat(t)
		for i := range first.Jobs {
			j := &first.Jobs[i]
			if j.Speaks = true; len(j.Place) == 0 {
				j.Spec.Min, j.Spec.Max = rapid.IntRange(1, 4).Draw(t, "min"), 0
			}
		}
		tree := drawShares(t, &first)
		for _, name := range []string{"lookahead", "knapsack"} {
			p, _ := policy.ByName(name)
			for path, decide := range paths {
				s, claims := settled(t, first, tree, p, path)
				if j := couldUse(s, s.Nodes[0].Free()); j != nil && !reserves(decide(p, s)) {
					t.Fatalf("%s, %s: %d GPUs are idle that job %d could use\n%s\n%s", name, path, s.Nodes[0].Free(), j.ID, dump(s), render(s, decide(p, s)))
				}
				for account := range beyond(s, claims) {
					for other := range below(s, claims) {
						t.Fatalf("%s, %s: account %s has more than its bound, %s has less\n%s\n%s", name, path, account, other, dump(s), render(s, decide(p, s)))
					}
				}
			}
		}
	})
}

// reserves reports whether idle GPUs are kept for a job that waits.
func reserves(a elastic.Allocation) bool {
	for _, d := range a {
		if d.Reserves {
			return true
		}
	}
	return false
}

// couldUse returns a job that could start or grow on idle GPUs; nil if there is none.
func couldUse(s elastic.Snapshot, idle int) *elastic.Job {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if n := j.GPUs(); n == 0 && j.Spec.Min <= idle || n > 0 && idle > 0 && (j.Spec.Max == 0 || n < j.Spec.Max) {
			return j
		}
	}
	return nil
}

// beyond returns the accounts that have more than their bounds, and a job that could shrink.
func beyond(s elastic.Snapshot, claims claim.Claims) map[string]bool {
	return accounts(claims, func(account string, has, bound int) bool {
		return has > bound && slices.ContainsFunc(s.Jobs, func(j elastic.Job) bool { return j.Account == account && j.GPUs() > j.Spec.Min })
	})
}

// below returns the accounts that have less than their bounds, a job that could grow, and none that waits.
func below(s elastic.Snapshot, claims claim.Claims) map[string]bool {
	return accounts(claims, func(account string, has, bound int) bool {
		grows := func(j elastic.Job) bool {
			return j.Account == account && j.GPUs() > 0 && (j.Spec.Max == 0 || j.GPUs() < j.Spec.Max)
		}
		waits := func(j elastic.Job) bool { return j.Account == account && j.GPUs() == 0 }
		return has < bound && slices.ContainsFunc(s.Jobs, grows) && !slices.ContainsFunc(s.Jobs, waits)
	})
}

func accounts(claims claim.Claims, is func(account string, has, bound int) bool) map[string]bool {
	has, bound, out := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, c := range claims.Each {
		has[c.Account] += c.Has
		bound[c.Account] += c.Bound
	}
	for account := range has {
		if is(account, has[account], bound[account]) {
			out[account] = true
		}
	}
	return out
}

// TestSharesStayWithinTheSitesLimits: neither a division nor what is lent takes jobs beyond a limit of the site's,
// a node beyond its GPUs, or an order of a user.
func TestSharesStayWithinTheSitesLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := snapshots(t)
		first.Limits.Preempt = rapid.IntRange(0, 3).Draw(t, "preempt") == 0
		drawCaps(t, &first)
		limits := first.Caps
		tree := drawShares(t, &first)
		for i := range first.Jobs {
			if j := &first.Jobs[i]; rapid.IntRange(0, 4).Draw(t, "scavenger") == 0 {
				j.Scavenger, j.QOS = true, "low"
			}
		}
		for _, p := range policy.All {
			s, _ := claimed(t, first, tree, p)
			s.Caps = slices.Concat(limits, s.Caps)
			for path, decide := range paths {
				a := decide(p, s)
				opened := plan.Reconcile(s, a, plan.Arrange(s, a))
				target := map[elastic.JobID]nodes.Placement{}
				for _, in := range opened.Open {
					target[in.Job] = in.Target
				}
				for _, c := range limits {
					kept(t, p.Name+", "+path, s, c, target)
				}
				within(t, p.Name+", "+path, s, stopped(apply(s, a), a))
			}
		}
	})
}
