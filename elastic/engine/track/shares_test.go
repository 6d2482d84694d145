package track

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// divided is a division of 10 GPUs: ann deserves 6 and has some, bob deserves 4 and has the rest.
func divided(ann int, wanted int) claim.Claims {
	of := func(account, user string, fair float64, has int) claim.Claim {
		return claim.Claim{Want: share.Want{Account: account, User: user, GPUs: wanted, Has: has}, Worth: float64(has), Deserved: share.Part{Fair: fair}}
	}
	return claim.Claims{Capacity: 10, Each: []claim.Claim{of("bio", "bob", 4, 10-ann), of("phys", "ann", 6, ann)}}
}

// TestBooksOfShares: what a user had less than it deserved is booked from one division to the next,
// while GPUs are contended, and decays as Slurm's usage.
func TestBooksOfShares(t *testing.T) {
	const hour = time.Hour
	type step struct {
		after    time.Duration // since the step before
		division claim.Claims  // from then on
		want     float64       // ann's credit at that time, GPU-hours
	}
	for name, c := range map[string]struct {
		halfLife time.Duration
		steps    []step
	}{
		"an hour with 2 less":      {0, []step{{0, divided(4, 10), 0}, {hour, divided(6, 10), 2}, {hour, divided(6, 10), 2}}},
		"more, then less":          {0, []step{{0, divided(9, 10), 0}, {hour, divided(4, 10), -3}, {hour, claim.Claims{}, -1}}},
		"looked at twice":          {0, []step{{0, divided(4, 10), 0}, {hour, divided(4, 10), 2}, {0, divided(4, 10), 2}, {0, divided(4, 10), 2}, {hour, divided(6, 10), 4}}},
		"nobody wants the rest":    {0, []step{{0, divided(4, 5), 0}, {hour, divided(4, 5), 0}}},
		"nothing is divided":       {0, []step{{0, claim.Claims{}, 0}, {hour, claim.Claims{}, 0}}},
		"half after a half-life":   {7 * 24 * hour, []step{{0, divided(4, 10), 0}, {hour, claim.Claims{}, 2}, {7 * 24 * hour, claim.Claims{}, 1}, {7 * 24 * hour, claim.Claims{}, .5}}},
		"never without one":        {0, []step{{0, divided(4, 10), 0}, {hour, claim.Claims{}, 2}, {1000 * 24 * hour, claim.Claims{}, 2}}},
		"a clock that is set on":   {0, []step{{0, divided(4, 10), 0}, {365 * 24 * hour, divided(4, 10), 2}, {hour, divided(4, 10), 4}}},
		"a clock that is set back": {0, []step{{0, divided(4, 10), 0}, {-hour, divided(4, 10), 0}, {hour, divided(4, 10), 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			var sh Shares
			for i, s := range c.steps {
				now = now.Add(s.after)
				sh.book(c.halfLife, now)
				sh.Last = s.division
				if got := sh.credit.Credit("phys", "ann") / 3600; math.Abs(got-s.want) > 1e-3 {
					t.Errorf("step %d: a credit of %v GPU-hours, want %v", i, got, s.want)
				}
				if bob := sh.credit.Credit("bio", "bob") / 3600; math.Abs(bob+s.want) > 1e-3 {
					t.Errorf("step %d: bob has a credit of %v GPU-hours, want %v", i, bob, -s.want)
				}
			}
		})
	}
}

// TestTookShares: the last tree stands while none can be read, and each change of that is told once.
func TestTookShares(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	tree := func(shares int) []slurm.Share {
		return []slurm.Share{{Account: "root"}, {Account: "phys", Parent: "root", Shares: shares}}
	}
	down := errors.New("slurmdbd is down")
	var sh Shares
	for i, c := range []struct {
		list           []slurm.Share
		err            error
		failed, mended bool
		shares         float64 // of phys; -1 = no tree
	}{
		{nil, down, true, false, -1},
		{nil, down, false, false, -1},
		{tree(60), nil, false, true, 60},
		{tree(60), nil, false, false, 60},
		{nil, down, true, false, 60},
		{nil, errors.New("another"), false, false, 60},
		{tree(40), nil, false, true, 40},
		{tree(50), nil, false, false, 50},
	} {
		failed, mended := sh.TookShares(c.list, c.err, now)
		if failed != c.failed || mended != c.mended || (sh.Why != "") != (c.err != nil) {
			t.Errorf("step %d: failed %v, mended %v: %q", i, failed, mended, sh.Why)
		}
		got := -1.0
		if sh.Tree != nil {
			got = sh.Tree.Accounts()[1].Shares
		}
		if got != c.shares {
			t.Errorf("step %d: %v shares, want %v", i, got, c.shares)
		}
	}
}

// TestDivide: GPUs are divided if the site's shares count and a tree is known. Jobs of accounts and
// users that the tree does not list have no shares, or one.
func TestDivide(t *testing.T) {
	list := []slurm.Share{{Account: "root"}, {Account: "phys", Parent: "root", Shares: 60}, {Account: "phys", User: "ann", Parent: "phys", Shares: 1}}
	runs := func(id elastic.JobID, account, user string, gpus int) elastic.Job {
		return elastic.Job{ID: id, User: user, Account: account, Partition: "gpu", Phase: elastic.Running, Speaks: true, Place: nodes.Placement{{Node: "g1", GPUs: gpus}}, Spec: elastic.Spec{Min: 1, Max: 10}}
	}
	snapshot := func() elastic.Snapshot {
		return elastic.Snapshot{Limits: elastic.Limits{DeafAfter: 2}, Nodes: []nodes.Node{{Name: "g1", GPUs: 10, Usable: true, Partitions: []string{"gpu"}}}, Jobs: []elastic.Job{runs(1, "phys", "ann", 4), runs(2, "gone", "eve", 6)}}
	}
	for name, c := range map[string]struct {
		weight int64
		tree   bool
		rigid  bool
		want   map[string]int // the caps' bounds by user
	}{
		"an account vanished":    {1, true, false, map[string]int{"ann": 9, "eve": 1}},
		"no job is ever resized": {1, true, true, map[string]int{"ann": 4, "eve": 6}},
		"shares do not count":    {0, true, false, nil},
		"no tree was ever read":  {1, false, false, nil},
	} {
		var cl Cluster
		cl.Site.FairShare.Weight = c.weight
		if c.tree {
			cl.Shares.TookShares(list, nil, time.Time{})
		}
		cl.Shares.Rigid = func(string) bool { return c.rigid }
		s := snapshot()
		if err := cl.divide(&s, nil); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, cap := range s.Caps {
			for id := range cap.Jobs {
				got[s.Jobs[id-1].User] = cap.Most
			}
		}
		if len(got) != len(c.want) || got["ann"] != c.want["ann"] || got["eve"] != c.want["eve"] || (len(cl.Shares.Last.Each) > 0) != (c.want != nil) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestOwnTree: the site's own tree wins over Slurm's, and jobs count in its accounts. What users had
// decays as Slurm says where fair share counts there, else with Slurm's default.
func TestOwnTree(t *testing.T) {
	own, err := share.NewOwn([]share.OwnAccount{{Name: "phys", Shares: 1, Users: map[string]float64{"ann": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	var cl Cluster
	cl.Shares.TookShares([]slurm.Share{{Account: "root"}}, nil, time.Time{})
	sj := slurm.Job{User: "ann", Account: "bio"}
	if cl.SharesWanted() || cl.Shares.InForce() != cl.Shares.Tree || cl.Shares.accountOf(sj.User, sj.Account) != "bio" || cl.halfLife() != share.DefaultHalfLife {
		t.Errorf("without one: %+v", cl.Shares)
	}
	cl.Site.FairShare = slurm.FairShare{Weight: 1, HalfLife: time.Hour}
	if cl.halfLife() != time.Hour {
		t.Errorf("a half-life of %v", cl.halfLife())
	}
	cl.Site.FairShare = slurm.FairShare{}
	cl.Shares.Own = own
	if !cl.SharesWanted() || cl.Shares.InForce() != own.Tree || cl.Shares.accountOf(sj.User, sj.Account) != "phys" {
		t.Errorf("with one: %+v", cl.Shares)
	}
	var rec journal.JobRecord
	if !charge(&rec, cl.Shares.accountOf(sj.User, sj.Account)) || rec.Account.Name != "phys" || charge(&rec, "") || rec.Account.Name != "phys" {
		t.Errorf("the record has %+v", rec.Account)
	}
}

// TestBooksCountByWeight: GPUs that the partition's billing weights make dear count more in the books
// than others, as long as jobs have both.
func TestBooksCountByWeight(t *testing.T) {
	on := func(id elastic.JobID, account, user, node string) elastic.Job {
		return elastic.Job{ID: id, User: user, Account: account, Partition: "gpu", Phase: elastic.Running, Speaks: true, Place: nodes.Placement{{Node: node, GPUs: 4}}, Spec: elastic.Spec{Min: 4, Max: 8}}
	}
	s := elastic.Snapshot{Limits: elastic.Limits{DeafAfter: 2}, Jobs: []elastic.Job{on(1, "a", "ann", "fast"), on(2, "b", "bob", "slow")}}
	for name, kind := range map[string]string{"fast": "a100", "slow": "t4"} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: name, Type: kind, GPUs: 4, Used: 4, Usable: true, Partitions: []string{"gpu"}})
	}
	for name, c := range map[string]struct {
		weights []slurm.Weight
		want    float64 // ann's credit after an hour, GPU-hours
	}{
		"none":           {nil, 0},
		"dear a100":      {[]slurm.Weight{{Of: "gres/gpu", N: 1}, {Of: "gres/gpu:a100", N: 2}}, -2},
		"a100 for free":  {[]slurm.Weight{{Of: "gres/gpu:a100", N: 0}, {Of: "gres/gpu:t4", N: 1}}, 4},
		"both are alike": {[]slurm.Weight{{Of: "gres/gpu", N: 40}}, 0},
	} {
		var cl Cluster
		limits := slurm.Limits{FairShare: slurm.FairShare{Weight: 1}, Partitions: []slurm.Partition{{Name: "gpu", Weights: c.weights}}}
		cl.Site = eligible.Read(limits, nil)
		cl.Shares.TookShares([]slurm.Share{{Account: "root"}, {Account: "a", Parent: "root", Shares: 1}, {Account: "b", Parent: "root", Shares: 1}}, nil, time.Time{})
		now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		for range 2 {
			cl.Shares.book(0, now)
			if err := cl.divide(&s, nil); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Hour)
		}
		if ann, bob := cl.Shares.credit.Credit("a", "ann")/3600, cl.Shares.credit.Credit("b", "bob")/3600; math.Abs(ann-c.want) > 1e-9 || math.Abs(ann+bob) > 1e-9 {
			t.Errorf("%s: credits of %v and %v GPU-hours, want %v and %v", name, ann, bob, c.want, -c.want)
		}
	}
}
