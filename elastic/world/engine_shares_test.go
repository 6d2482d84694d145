package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// tree has the accounts phys and bio with 60 and 40 shares, and a user of each.
func tree() []slurm.Share {
	return []slurm.Share{
		{Account: "root"}, {Account: "root", User: "root", Parent: "root", Shares: 1},
		{Account: "bio", Parent: "root", Shares: 40}, {Account: "bio", User: "bob", Parent: "bio", Shares: 1},
		{Account: "phys", Parent: "root", Shares: 60}, {Account: "phys", User: "ann", Parent: "phys", Shares: 1},
	}
}

// counts has the site's shares count.
func counts(s *fake.Fake) {
	s.SetLimits(slurm.Limits{FairShare: slurm.FairShare{Weight: 1000, HalfLife: 7 * 24 * time.Hour}})
}

// sharer answers for the fake, unless it fails or hangs, and counts queries.
type sharer struct {
	slurm.Sharer
	err   error
	empty bool
	asked int
}

func (s *sharer) Shares(ctx context.Context) ([]slurm.Share, error) {
	s.asked++
	if s.err != nil || s.empty {
		return nil, s.err
	}
	return s.Sharer.Shares(ctx)
}

// shared is a cluster of 10 GPUs whose shares count. Its policy is lookahead.
func shared(t *testing.T, change ...func(*engine.Config)) (*world.World, *daemon, *sharer) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 10)}})
	counts(w.Slurm)
	w.Slurm.SetShares(tree())
	s := &sharer{Sharer: w.Client}
	d := boot(t, w, new(journal.Memory), "lookahead", append([]func(*engine.Config){func(c *engine.Config) { c.Limiter, c.Sharer = w.Client, s }}, change...)...)
	return w, d, s
}

// of hands in a job of 1 to 10 GPUs in an account, as its user.
func in(w *world.World, account, user string, least int) *world.Trainer {
	return w.Submit(world.Job{User: user, Args: []string{"--account=" + account}, Spec: elastic.Spec{Min: least, Max: 10, Total: 1e6}, Model: world.Amdahl(60, 0.01)})
}

func (d *daemon) has(t *testing.T, what string, want map[*world.Trainer]int) {
	t.Helper()
	for j, n := range want {
		if got := d.of(t, j); got.Job.GPUs() != n {
			t.Errorf("%s: %s of %s has %d GPUs, want %d: %s", what, j.Job.Name, j.Job.User, got.Job.GPUs(), n, sentence(got.Why))
		}
	}
}

// TestSharesOfTheSite: an account that is alone has all GPUs. As soon as another one wants what it
// deserves, borrowers shrink to that, none below its minimum; no job is stopped. When the other one's
// jobs are gone, all is lent again.
func TestSharesOfTheSite(t *testing.T) {
	w, d, s := shared(t)
	first, second := in(w, "bio", "bob", 1), in(w, "bio", "bob", 1)
	d.drive(t, 10*time.Minute)
	if n := d.of(t, first).Job.GPUs() + d.of(t, second).Job.GPUs(); n != 10 {
		t.Errorf("bio is alone and has %d GPUs, want 10", n)
	}
	ann := in(w, "phys", "ann", 1)
	d.drive(t, 5*time.Minute)
	d.has(t, "60:40", map[*world.Trainer]int{ann: 6})
	if a, b := d.of(t, first).Job.GPUs(), d.of(t, second).Job.GPUs(); a+b != 4 || a < 1 || b < 1 {
		t.Errorf("bio has %d and %d GPUs, want 4 in all", a, b)
	}
	for _, j := range []*world.Trainer{first, second} {
		if why := sentence(d.of(t, j).Why); d.of(t, j).Job.GPUs() > 3 && !strings.Contains(why, "share") {
			t.Errorf("it is not said why it shrank: %s", why)
		}
	}
	if asked := s.asked; asked > 17 {
		t.Errorf("%d queries for the tree in 15 minutes", asked)
	}
	if err := w.User("ann").Cancel(context.Background(), ann.ID()); err != nil {
		t.Fatal(err)
	}
	d.drive(t, 5*time.Minute)
	if n := d.of(t, first).Job.GPUs() + d.of(t, second).Job.GPUs(); n != 10 {
		t.Errorf("bio is alone again and has %d GPUs, want 10", n)
	}
	for _, j := range []*world.Trainer{first, second} {
		if jr := d.of(t, j); jr.Ended || jr.Job.Phase != elastic.Running {
			t.Errorf("job %d: %s", j.ID(), jr.Job.Phase)
		}
	}
}

// TestBorrowersKeepTheirMinimum: what cannot be taken back from started jobs is not, whatever the
// shares of others; the rest of what an account deserves comes from where it can.
func TestBorrowersKeepTheirMinimum(t *testing.T) {
	w, d, _ := shared(t)
	large, small := in(w, "bio", "bob", 5), in(w, "bio", "bob", 2)
	d.drive(t, 10*time.Minute)
	ann := in(w, "phys", "ann", 1)
	d.drive(t, 5*time.Minute)
	d.has(t, "minimums of 5 and 2", map[*world.Trainer]int{large: 5, small: 2, ann: 3})
}

// TestTheLastTreeStands: while the tree cannot be read, or is empty, GPUs are divided by the last one.
// That is said once, is in the report, and that it can be read again is said too.
func TestTheLastTreeStands(t *testing.T) {
	for name, fails := range map[string]func(*sharer){
		"sshare fails":          func(s *sharer) { s.err = slurm.ErrDatabaseDown },
		"sshare hangs":          func(s *sharer) { s.err = observe.ErrAsking },
		"sshare prints nothing": func(s *sharer) { s.empty = true },
	} {
		t.Run(name, func(t *testing.T) {
			said := map[string]int{}
			w, d, s := shared(t, func(c *engine.Config) {
				tell := c.Events
				c.Events = func(e event.Event) {
					if tell(e); e.Kind == "shares" || e.Problem == event.ProblemShares {
						said[e.Kind]++
					}
				}
			})
			bob := in(w, "bio", "bob", 1)
			d.drive(t, 3*time.Minute)
			fails(s)
			d.drive(t, 3*time.Minute)
			ann := in(w, "phys", "ann", 1)
			d.drive(t, 5*time.Minute)
			d.has(t, "by the last tree", map[*world.Trainer]int{bob: 4, ann: 6})
			if said["problem"] != 1 || said["shares"] != 0 || d.Report().Shares.Why == "" {
				t.Errorf("said %v, the report %q", said, d.Report().Shares.Why)
			}
			w.Slurm.SetShares(append(tree()[:4], slurm.Share{Account: "phys", Parent: "root", Shares: 40}))
			s.err, s.empty = nil, false
			d.drive(t, 5*time.Minute)
			d.has(t, "by the new tree", map[*world.Trainer]int{bob: 5, ann: 5})
			if said["problem"] != 1 || said["shares"] != 1 || d.Report().Shares.Why != "" {
				t.Errorf("said %v, the report %q", said, d.Report().Shares.Why)
			}
		})
	}
}

// TestSharesThatCountNothing: where PriorityWeightFairshare is 0 the tree is not read, and GPUs are
// divided by the policy alone. The same where no tree could ever be read.
func TestSharesThatCountNothing(t *testing.T) {
	for name, c := range map[string]struct {
		weight int64
		fails  error
	}{"no weight": {0, nil}, "never read": {1000, slurm.ErrDatabaseDown}} {
		t.Run(name, func(t *testing.T) {
			w, d, s := shared(t)
			w.Slurm.SetLimits(slurm.Limits{FairShare: slurm.FairShare{Weight: c.weight}})
			s.err = c.fails
			bob, ann := in(w, "bio", "bob", 1), in(w, "phys", "ann", 1)
			d.drive(t, 10*time.Minute)
			d.has(t, "by the policy alone", map[*world.Trainer]int{bob: 9, ann: 1})
			if c.weight == 0 && s.asked > 0 {
				t.Errorf("%d queries for a tree that counts nothing", s.asked)
			}
		})
	}
}

// TestRigidPoliciesAndShares: a policy that never resizes a job takes nothing back for a share, and
// leaves nothing idle for one: what ends goes to the account that has less than it deserves.
func TestRigidPoliciesAndShares(t *testing.T) {
	w, d, _ := shared(t, func(c *engine.Config) { c.Policy, _ = policy.ByName("ef") })
	bob := in(w, "bio", "bob", 1)
	d.drive(t, 3*time.Minute)
	ann := in(w, "phys", "ann", 1)
	d.drive(t, 5*time.Minute)
	d.has(t, "ef", map[*world.Trainer]int{bob: 10, ann: 0})
}
