package share

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ownSite has accounts of a site without slurmdbd: ann is in two, anybody may use guest.
func ownSite() []OwnAccount {
	return []OwnAccount{
		{Name: "physics", Shares: 3},
		{Name: "theory", Parent: "physics", Shares: 1, Users: map[string]float64{"ann": 2, "cat": 1}, Default: []string{"ann"}},
		{Name: "Bio", Shares: 1, Users: map[string]float64{"ann": 1, "bob": 1}},
		{Name: "guest", Shares: .5},
	}
}

// TestAccountOf: a job counts in the account that it names if that lists its user or is open, else in
// its user's own. A name gives nobody the shares of others.
func TestAccountOf(t *testing.T) {
	own, err := NewOwn(ownSite())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ user, named, want string }{
		{"bob", "", "Bio"},
		{"bob", "bio", "Bio"},
		{"bob", "theory", "Bio"},
		{"bob", "unheard of", "Bio"},
		{"bob", "physics", "Bio"}, // it has accounts below it, so it is open to nobody
		{"bob", "guest", "guest"},
		{"ann", "", "theory"},
		{"ann", "bio", "Bio"},
		{"ann", "BIO", "Bio"},
		{"cat", "", "theory"},
		{"eve", "", ""},
		{"eve", "theory", ""},
		{"eve", "guest", "guest"},
		{"", "", ""},
	} {
		if got := own.AccountOf(c.user, c.named); got != c.want {
			t.Errorf("a job of %q that names %q counts in %q, want %q", c.user, c.named, got, c.want)
		}
	}
	if !own.Lists("ann") || own.Lists("eve") {
		t.Error("who is listed")
	}
}

// TestDivisionOfAnOwnTree: users without an account get what the others do not want.
func TestDivisionOfAnOwnTree(t *testing.T) {
	own, err := NewOwn(ownSite())
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := own.Tree.With("")
	for bob, want := range map[int][4]int{ // what ann, cat, bob and eve get of 24 GPUs, by what bob wants
		24: {12, 6, 6, 0},
		2:  {14, 7, 2, 1},
	} {
		got, err := tree.Deserved(24, []Want{
			{Account: "theory", User: "ann", GPUs: 14}, {Account: "theory", User: "cat", GPUs: 7}, {Account: "Bio", User: "bob", GPUs: bob}, {User: "eve", GPUs: 24},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range want {
			if got[i].GPUs != n {
				t.Errorf("bob wants %d: %v, want %v", bob, got, want)
			}
		}
	}
}

// TestNoOwnTree: what is no tree is refused.
func TestNoOwnTree(t *testing.T) {
	for name, c := range map[string]struct {
		list []OwnAccount
		want string
	}{
		"no parent":  {[]OwnAccount{{Name: "a", Shares: 1, Parent: "b"}}, "there is no account b"},
		"a circle":   {[]OwnAccount{{Name: "a", Shares: 1, Parent: "b"}, {Name: "b", Shares: 1, Parent: "a"}}, "in a circle"},
		"twice":      {[]OwnAccount{{Name: "a", Shares: 1}, {Name: "A", Shares: 1}}, "in lower case"},
		"no number":  {[]OwnAccount{{Name: "a", Shares: -1}}, "want 0, or a number"},
		"of no name": {[]OwnAccount{{Shares: 1}}, "has no account"},
	} {
		if _, err := NewOwn(c.list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestAnAccountIsTheUsersOwn: whatever a job names, it counts in an account that lists its user, in
// one that is open, or in none.
func TestAnAccountIsTheUsersOwn(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	users := rapid.SampledFrom([]string{"ann", "bob", "cat"})
	rapid.Check(t, func(t *rapid.T) {
		var list []OwnAccount
		for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, "accounts") {
			a := OwnAccount{Name: name, Shares: 1, Users: map[string]float64{}}
			for _, user := range rapid.SliceOfDistinct(users, rapid.ID).Draw(t, "users") {
				a.Users[user] = 1
			}
			if len(list) > 0 && rapid.Bool().Draw(t, "below") {
				a.Parent = list[len(list)-1].Name
			}
			list = append(list, a)
		}
		own, err := NewOwn(list)
		if err != nil {
			t.Fatal(err)
		}
		user, named := users.Draw(t, "user"), rapid.SampledFrom([]string{"", "a", "b", "c", "d", "x"}).Draw(t, "named")
		got := own.AccountOf(user, named)
		at := slices.IndexFunc(list, func(a OwnAccount) bool { return a.Name == got })
		switch {
		case at < 0 && (got != "" || own.Lists(user)):
			t.Fatalf("%s of %v counts in %q", user, list, got)
		case at >= 0 && list[at].Users[user] == 0 && (len(list[at].Users) > 0 || got != named):
			t.Fatalf("%s, naming %q, counts in %+v", user, named, list[at])
		}
	})
}
