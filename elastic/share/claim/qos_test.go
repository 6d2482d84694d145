package claim

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share"
)

// in returns the job in a QOS.
func in(qos string, j elastic.Job) elastic.Job {
	j.QOS = qos
	return j
}

func TestQOS(t *testing.T) {
	rules := map[string]share.QOS{"low": {Scavenger: true}, "urgent": {Guarantee: 6}, "more": {Weight: 3}, "rest": {}}
	for _, c := range []struct {
		name string
		s    *elastic.Snapshot
		want string // of each user and QOS: wants/keeps/has deserved bound
	}{
		{"a QOS without a rule is none", site(0, in("normal", waits("ann@phys", 1, 4)), waits("ann@phys", 1, 4)), "ann@phys 8/0/0 8 8"},
		{"scavengers get what is left", site(0, in("low", waits("ann@phys", 1, 16)), waits("bob@bio", 1, 12)), "bob@bio 12/0/0 12 12, ann@phys:low 16/0/0 0 4"},
		{"nothing is left", site(0, in("low", waits("ann@phys", 1, 16)), waits("bob@bio", 1, 0)), "bob@bio 16/0/0 16 16, ann@phys:low 16/0/0 0 0"},
		{"scavengers keep their minimum only", site(0, in("low", runs("ann@phys", 2, 16, 8)), waits("bob@bio", 1, 0)), "bob@bio 16/0/0 16 14, ann@phys:low 16/2/8 0 2"},
		{"scavengers divide by shares", site(0, in("low", waits("ann@phys", 1, 16)), in("low", waits("bob@bio", 1, 16)), waits("bob@bio", 1, 6)),
			"bob@bio 6/0/0 6 6, bob@bio:low 16/0/0 0 4, ann@phys:low 16/0/0 0 6"},
		{"a guarantee comes before shares", site(8, in("urgent", waits("bob@bio", 1, 0)), waits("ann@phys", 1, 0)), "bob@bio:urgent 16/0/0 6 6, ann@phys 16/0/0 2 2"},
		{"and is no more than is wanted", site(8, in("urgent", waits("bob@bio", 1, 4)), waits("ann@phys", 1, 0)), "bob@bio:urgent 4/0/0 4 4, ann@phys 16/0/0 4 4"},
		{"nor a bound", site(0, in("urgent", waits("bob@bio", 1, 0)), waits("ann@phys", 1, 4)), "bob@bio:urgent 16/0/0 12 12, ann@phys 4/0/0 4 4"},
		{"a weight is among a user's jobs", site(0, in("more", waits("ann@phys", 1, 0)), waits("ann@phys", 1, 0), waits("eve@phys", 1, 0)),
			"ann@phys 16/0/0 2 2, ann@phys:more 16/0/0 6 6, eve@phys 16/0/0 8 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := share.Parse("phys=60,bio=40")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Of(tree, c.s, nil, nil, rules)
			if err != nil {
				t.Fatal(err)
			}
			var each []string
			for _, u := range got.Each {
				name := strings.TrimSuffix(u.User+"@"+u.Account+":"+u.Class, ":")
				each = append(each, fmt.Sprintf("%s %d/%d/%d %d %d", name, u.GPUs, u.Least, u.Has, u.Deserved.GPUs, u.Bound))
			}
			if text := strings.Join(each, ", "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// TestParkedScavengersKeepNothing: where jobs may be parked, scavengers give back what waiting jobs of
// others need to start, and only that; without preempt they keep their minimum.
func TestParkedScavengersKeepNothing(t *testing.T) {
	low := func(who string, least, has int) elastic.Job {
		return with(in("low", runs(who, least, 16, has)), func(j *elastic.Job) { j.Scavenger = true })
	}
	for _, c := range []struct {
		name    string
		preempt bool
		s       *elastic.Snapshot
		want    string
	}{
		{"without preempt", false, site(0, low("ann@phys", 8, 8), low("ann@phys", 8, 8), waits("bob@bio", 3, 0)), "bob@bio 0, ann@phys 16"},
		{"for a job that waits", true, site(0, low("ann@phys", 8, 8), low("ann@phys", 8, 8), waits("bob@bio", 3, 0)), "bob@bio 3, ann@phys 16"},
		{"for no growth", true, site(0, low("ann@phys", 8, 8), low("ann@phys", 4, 4), runs("bob@bio", 1, 16, 4)), "bob@bio 4, ann@phys 12"},
		{"as much as they have", true, site(0, low("ann@phys", 2, 2), runs("bob@bio", 14, 14, 14), waits("bob@bio", 5, 5)), "bob@bio 16, ann@phys 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := share.Parse("phys=60,bio=40")
			if err != nil {
				t.Fatal(err)
			}
			c.s.Limits.Preempt = c.preempt
			got, err := Of(tree, c.s, nil, nil, map[string]share.QOS{"low": {Scavenger: true}})
			if err != nil {
				t.Fatal(err)
			}
			var each []string
			for _, u := range got.Each {
				each = append(each, fmt.Sprintf("%s@%s %d", u.User, u.Account, u.Bound))
			}
			if text := strings.Join(each, ", "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// TestLawsOfQOS: whatever the jobs and rules are, the bounds are no more than the GPUs unless what cannot
// be taken back is; nothing is idle that is wanted; scavengers have more than they keep only if no other
// wants more; QOS with guarantees deserve them; and by spreading jobs over QOS of equal weight no user
// gets more together.
func TestLawsOfQOS(t *testing.T) {
	names := []string{"", "low", "urgent", "a", "b"}
	tree, err := share.Parse("phys=60,bio=40")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		rules := map[string]share.QOS{
			"low": {Scavenger: true}, "urgent": {Guarantee: rapid.IntRange(0, 20).Draw(t, "guarantee")},
			"a": {Weight: rapid.Float64Range(.1, 9).Draw(t, "weight")}, "b": {},
		}
		var jobs []elastic.Job
		for range rapid.IntRange(0, 8).Draw(t, "jobs") {
			who := rapid.SampledFrom([]string{"ann@phys", "eve@phys", "bob@bio"}).Draw(t, "who")
			least := rapid.IntRange(1, 4).Draw(t, "least")
			j := waits(who, least, least+rapid.IntRange(0, 12).Draw(t, "more"))
			jobs = append(jobs, in(rapid.SampledFrom(names).Draw(t, "qos"), j))
		}
		got, err := Of(tree, site(rapid.IntRange(0, 8).Draw(t, "others"), jobs...), nil, nil, rules)
		if err != nil {
			t.Fatal(err)
		}
		bound, wanted, short, urgent, urgentWants, lent := 0, 0, false, 0, 0, 0
		for _, c := range got.Each {
			bound, wanted = bound+c.Bound, wanted+c.GPUs
			if c.Bound > c.GPUs {
				t.Fatalf("%+v may have more than it wants", c)
			}
			if c.Scavenger {
				lent += c.Bound
			} else {
				short = short || c.Bound < c.GPUs
			}
			if c.Class == "urgent" {
				urgent, urgentWants = urgent+c.Deserved.GPUs, urgentWants+c.GPUs
			}
		}
		if bound != min(got.Capacity, wanted) {
			t.Fatalf("%d of %d GPUs are divided, %d are wanted", bound, got.Capacity, wanted)
		}
		if short && lent > 0 {
			t.Fatalf("scavengers may have %d GPUs that others want: %+v", lent, got.Each)
		}
		if want := min(rules["urgent"].Guarantee, urgentWants, got.Capacity); urgent < want {
			t.Fatalf("the guarantee of %d GPUs gives %d, of %d wanted", want, urgent, urgentWants)
		}
	})
}

// TestClassesGainNothing: by spreading its jobs over QOS that only have weights, a user gets the same in
// all as without rules.
func TestClassesGainNothing(t *testing.T) {
	tree, err := share.Parse("phys=60,bio=40")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		rules := map[string]share.QOS{"a": {Weight: rapid.Float64Range(.1, 9).Draw(t, "a")}, "b": {Weight: rapid.Float64Range(.1, 9).Draw(t, "b")}}
		var jobs []elastic.Job
		for range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := waits(rapid.SampledFrom([]string{"ann@phys", "eve@phys", "bob@bio"}).Draw(t, "who"), 1, rapid.IntRange(1, 9).Draw(t, "most"))
			jobs = append(jobs, in(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "qos"), j))
		}
		of := func(rules map[string]share.QOS) map[string]int {
			got, err := Of(tree, site(0, jobs...), nil, nil, rules)
			if err != nil {
				t.Fatal(err)
			}
			sums := map[string]int{}
			for _, c := range got.Each {
				sums[c.User] += c.Bound
			}
			return sums
		}
		with, without := of(rules), of(nil)
		for user, n := range without {
			if with[user] != n {
				t.Fatalf("%s may have %d GPUs with its jobs in several QOS, %d else", user, with[user], n)
			}
		}
	})
}

// TestCreditOfAllQOS: the credit of a user counts in each of its QOS, and once in the part of its account.
func TestCreditOfAllQOS(t *testing.T) {
	tree, err := share.Parse("phys=1,bio=1")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]share.QOS{"low": {Scavenger: true}, "a": {}, "b": {}}
	credit := share.NewLedger(0)
	credit.Put("phys", "ann", -share.Quantum/4) // it had more than it deserved
	got, err := Of(tree, site(0, in("a", waits("ann@phys", 1, 16)), in("b", waits("ann@phys", 1, 16)), in("low", waits("ann@phys", 1, 16)), waits("bob@bio", 1, 16)), credit, nil, rules)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, c := range got.Caps() {
		why := c.Why.(reason.Deserved)
		order = append(order, why.User+":"+why.QOS)
	}
	if text := strings.Join(order, " "); text != "bob: ann:a ann:b ann:low" {
		t.Errorf("lent in the order %s", text)
	}

	// A scavenger's claim, or another class, comes first; of 15 GPUs the odd one is for the user that lacked more.
	credit.Put("bio", "ann", -share.Quantum/4)
	for _, classes := range [][]string{{""}, {"", "a"}, {"a", "b"}, {"low", "more"}} {
		var jobs []elastic.Job
		for _, class := range classes {
			jobs = append(jobs, in(class, waits("ann@bio", 1, 16)))
		}
		got, err := Of(tree, site(1, append(jobs, waits("eve@phys", 1, 16))...), credit, nil, map[string]share.QOS{"low": {Scavenger: true}, "a": {}, "b": {}, "more": {}})
		if err != nil {
			t.Fatal(err)
		}
		has := map[string]int{}
		for _, c := range got.Each {
			has[c.User] += c.Deserved.GPUs
		}
		if has["eve"] != 8 || has["ann"] != 7 {
			t.Errorf("in QOS %q: %v", classes, has)
		}
	}
}
