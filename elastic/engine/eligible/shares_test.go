package eligible

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/slurm"
)

// line writes a tree as "account<parent*shares" in order; users are told by what they get.
func lines(t *share.Tree) string {
	var out []string
	for _, a := range t.Accounts() {
		shares := fmt.Sprint(a.Shares)
		if a.Passes {
			shares = "parent"
		}
		out = append(out, fmt.Sprintf("%s<%s*%s", a.Name, a.Parent, shares))
	}
	return strings.Join(out, " ")
}

// TestTreeOf: the tree is Slurm's, and whatever Slurm shows there is one.
func TestTreeOf(t *testing.T) {
	account := func(name, parent string, shares int) slurm.Share {
		return slurm.Share{Account: name, Parent: parent, Shares: shares}
	}
	user := func(name, account, partition string, shares int) slurm.Share {
		return slurm.Share{Account: account, User: name, Partition: partition, Parent: account, Shares: shares}
	}
	root, passes := slurm.Share{Account: "root"}, account("exp", "phys", 0)
	passes.Inherits = true
	for name, c := range map[string]struct {
		list []slurm.Share
		want string
		gets string // of 100 GPUs, when each user wants all
	}{
		"nothing":                          {nil, "", ""},
		"60:40":                            {[]slurm.Share{root, account("bio", "root", 40), user("bob", "bio", "", 1), account("phys", "root", 60), user("ann", "phys", "", 1)}, "root<*1 bio<root*40 phys<root*60", "bob@bio 40, ann@phys 60"},
		"users of the root are beside":     {[]slurm.Share{root, user("ops", "root", "", 1), account("phys", "root", 3), user("ann", "phys", "", 1)}, "root<*1 phys<root*3", "ops@root 25, ann@phys 75"},
		"an account passes its members on": {[]slurm.Share{root, account("phys", "root", 1), user("ann", "phys", "", 1), passes, user("eve", "exp", "", 3)}, "root<*1 phys<root*1 exp<phys*parent", "ann@phys 25, eve@exp 75"},
		"twice the same account":           {[]slurm.Share{root, account("phys", "root", 1), account("phys", "root", 9), user("ann", "phys", "", 1)}, "root<*1 phys<root*1", "ann@phys 100"},
		"a user in partitions":             {[]slurm.Share{root, account("a", "root", 1), user("ann", "a", "gpu", 3), user("ann", "a", "cpu", 9), user("bob", "a", "", 1)}, "root<*1 a<root*1", "ann@a 90, bob@a 10"},
		"without a partition counts":       {[]slurm.Share{root, account("a", "root", 1), user("ann", "a", "gpu", 99), user("ann", "a", "", 1), user("ann", "a", "cpu", 99), user("bob", "a", "", 1)}, "root<*1 a<root*1", "ann@a 50, bob@a 50"},
		"a user in two accounts":           {[]slurm.Share{root, account("a", "root", 1), user("ann", "a", "", 1), account("b", "root", 3), user("ann", "b", "", 1)}, "root<*1 a<root*1 b<root*3", "ann@a 25, ann@b 75"},
		"a parent that is missing":         {[]slurm.Share{root, account("a", "gone", 5), user("ann", "a", "", 1)}, "root<*1 a<*5", "ann@a 100"},
		"an account in itself":             {[]slurm.Share{root, account("a", "a", 5), user("ann", "a", "", 1)}, "root<*1 a<*5", "ann@a 100"},
		"a circle":                         {[]slurm.Share{root, account("a", "b", 5), account("b", "a", 7), user("ann", "b", "", 1)}, "root<*1 a<*5 b<a*7", "ann@b 100"},
		"a user without its account":       {[]slurm.Share{root, user("ann", "gone", "", 1)}, "root<*1", ""},
		"huge, negative and no shares":     {[]slurm.Share{root, account("a", "root", 1<<40), user("ann", "a", "", 0), account("b", "root", -7), user("bob", "b", "", 1)}, "root<*1 a<root*2.147483647e+09 b<root*0", "ann@a 100, bob@b 0"},
		"an account without a name":        {[]slurm.Share{{}, {User: "ann"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := TreeOf(c.list)
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(tree); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			var wants []share.Want
			seen := map[string]bool{}
			for _, s := range c.list {
				if who := s.User + "@" + s.Account; s.User != "" && tree.Has(s.Account) && !seen[who] {
					seen[who], wants = true, append(wants, share.Want{Account: s.Account, User: s.User, GPUs: 100})
				}
			}
			parts, err := tree.Deserved(100, wants)
			if err != nil {
				t.Fatal(err)
			}
			var gets []string
			for i, p := range parts {
				gets = append(gets, fmt.Sprintf("%s@%s %d", wants[i].User, wants[i].Account, p.GPUs))
			}
			if got := strings.Join(gets, ", "); got != c.gets {
				t.Errorf("%s, want %s", got, c.gets)
			}
		})
	}
}

// TestEveryTreeIsOne: whatever lines Slurm shows, there is a tree, with each account that they name
// once; each of its users takes part in a division, and all that is wanted is given.
func TestEveryTreeIsOne(t *testing.T) {
	names := rapid.SampledFrom([]string{"", "root", "a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) slurm.Share {
			s := slurm.Share{Account: names.Draw(t, "account"), Parent: names.Draw(t, "parent"), Shares: rapid.SampledFrom([]int{0, 1, 2, 60, 1<<31 - 1, 1 << 31, -1}).Draw(t, "shares"), Inherits: rapid.Bool().Draw(t, "inherits")}
			if rapid.Bool().Draw(t, "user") {
				s.User, s.Partition = rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "name"), rapid.SampledFrom([]string{"", "gpu"}).Draw(t, "partition")
			}
			return s
		}), 0, 12).Draw(t, "list")
		tree, err := TreeOf(list)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := TreeOf(list); err != nil || lines(again) != lines(tree) {
			t.Fatalf("%s, then %s, %v", lines(tree), lines(again), err)
		}
		count := map[string]int{}
		for _, a := range tree.Accounts() {
			count[a.Name]++
		}
		var wants []share.Want
		seen := map[[2]string]bool{}
		for _, s := range list {
			if s.User == "" && s.Account != "" && count[s.Account] != 1 {
				t.Fatalf("account %q is there %d times", s.Account, count[s.Account])
			}
			name := tree.UserIn(s.Account, s.User)
			if key := [2]string{s.Account, name}; s.User != "" && tree.Has(s.Account) && !seen[key] {
				seen[key], wants = true, append(wants, share.Want{Account: s.Account, User: name, GPUs: 10})
			}
		}
		parts, err := tree.Deserved(35, wants)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, p := range parts {
			sum += p.GPUs
		}
		if want := min(35, 10*len(wants)); sum != want {
			t.Fatalf("%d GPUs are given, want %d", sum, want)
		}
	})
}

// TestATreeOf10000Associations is made and divided.
func TestATreeOf10000Associations(t *testing.T) {
	list := []slurm.Share{{Account: "root"}}
	for i := range 1000 {
		parent := "root"
		if i%10 > 0 {
			parent = fmt.Sprint("a", i/10*10)
		}
		list = append(list, slurm.Share{Account: fmt.Sprint("a", i), Parent: parent, Shares: i % 100})
	}
	for i := range 9000 {
		a := fmt.Sprint("a", i%1000)
		list = append(list, slurm.Share{Account: a, User: fmt.Sprint("u", i), Parent: a, Shares: 1})
	}
	tree, err := TreeOf(list)
	if err != nil || len(tree.Accounts()) != 1001 {
		t.Fatalf("%d accounts, %v", len(tree.Accounts()), err)
	}
}
