package share

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func tree(t *testing.T, text string) *Tree {
	t.Helper()
	out, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// of reads wants such as "ann@phys 8", "bob@bio 3 least=2 has=3 credit=-3600".
func of(t *testing.T, text string) (out []Want) {
	t.Helper()
	for _, part := range strings.Split(text, ",") {
		f := strings.Fields(part)
		var w Want
		w.User, w.Account, _ = strings.Cut(f[0], "@")
		fmt.Sscan(f[1], &w.GPUs)
		for _, word := range f[2:] {
			key, value, _ := strings.Cut(word, "=")
			fmt.Sscan(value, map[string]any{"least": &w.Least, "has": &w.Has, "credit": &w.Credit}[key])
		}
		out = append(out, w)
	}
	return out
}

func TestDivisionsByHand(t *testing.T) {
	for _, c := range []struct {
		name, tree string
		gpus       int
		wants      string
		deserved   string // of each want
		bounds     string // "" = the same
	}{
		{"in proportion", "phys=60,bio=40", 10, "ann@phys 20,bob@bio 20", "6 4", ""},
		{"nobody gets more than it wants", "phys=60,bio=40", 10, "ann@phys 2,bob@bio 20", "2 8", ""},
		{"enough for all", "phys=60,bio=40", 10, "ann@phys 2,bob@bio 3", "2 3", ""},
		{"alone", "phys=60,bio=40", 10, "bob@bio 30", "10", ""},
		// Level 2 gives chem 1, which it wants; the other 9 by 2:1.
		{"water rises past the first", "phys=2,bio=1,chem=1", 10, "ann@phys 9,bob@bio 9,eve@chem 1", "6 3 1", ""},
		// phys 6.67 of 10, bio 3.33: the remainder .67 is the larger.
		{"largest remainder", "phys=2,bio=1", 10, "ann@phys 20,bob@bio 20", "7 3", ""},
		// Thirds of 7 are 2.33 each: the first by name, unless another has it or lacked more.
		{"equal remainders go by name", "a=1,b=1,c=1", 7, "u@c 9,u@b 9,u@a 9", "2 2 3", ""},
		{"a remainder stays where it is", "a=1,b=1,c=1", 7, "u@a 9 has=2,u@b 9 has=3,u@c 9 has=2", "2 3 2", ""},
		{"until another lacked a quantum", "a=1,b=1,c=1", 7, "u@a 9 has=2,u@b 9 has=3,u@c 9 has=2 credit=3700", "2 2 3", ""},
		{"and not before", "a=1,b=1,c=1", 7, "u@a 9 has=2,u@b 9 has=3,u@c 9 has=2 credit=3500", "2 3 2", ""},
		{"what it had beyond its part weighs", "a=1,b=1,c=1", 7, "u@a 9 credit=-1000,u@b 9,u@c 9", "2 3 2", ""},
		// phys has 8 of 12: theory half of that, and within it ann 2 of 3.
		{"down the tree", "phys=2,bio=1,phys/theory=1,phys/lab=1,ann@theory=2", 12, "ann@theory 9,bob@theory 9,eve@lab 9,joe@bio 9", "3 1 4 4", ""},
		{"what a sub-account leaves stays with its siblings", "phys=2,bio=1,phys/theory=1,phys/lab=1", 12, "ann@theory 1,eve@lab 20,joe@bio 20", "1 7 4", ""},
		{"users of an account are equal", "phys=1", 9, "ann@phys 9,bob@phys 9,eve@phys 1", "4 4 1", ""},
		{"a user in two accounts", "phys=1,bio=1", 8, "ann@phys 8,ann@bio 8", "4 4", ""},
		{"no shares, and others want all", "phys=1,guest=0", 8, "ann@phys 9,eve@guest 9", "8 0", ""},
		{"no shares, and others leave some", "phys=1,guest=0,visitor=0", 8, "ann@phys 3,eve@guest 9,joe@visitor 9", "3 3 2", ""},
		{"no GPUs", "phys=1", 0, "ann@phys 9", "0", ""},
		{"nobody wants", "phys=1", 8, "ann@phys 0", "0", ""},
		// phys keeps 7, its started minimums; the others divide 3 by 1:2.
		{"what cannot be taken back", "phys=1,bio=1,chem=2", 10, "ann@phys 9 least=7,bob@bio 9,eve@chem 9", "2 3 5", "7 1 2"},
		{"more is kept than there is", "phys=1,bio=1", 4, "ann@phys 9 least=5,bob@bio 9", "2 2", "5 0"},
		{"no shares, but started", "phys=1,guest=0", 8, "ann@phys 9,eve@guest 9 least=2", "8 0", "6 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, wants := tree(t, c.tree), of(t, c.wants)
			deserved, err := tr.Deserved(c.gpus, wants)
			if err != nil {
				t.Fatal(err)
			}
			bounds, err := tr.Bounds(c.gpus, wants)
			if err != nil {
				t.Fatal(err)
			}
			if c.bounds == "" {
				c.bounds = c.deserved
			}
			if got := wholes(deserved); got != c.deserved {
				t.Errorf("deserved %s, want %s", got, c.deserved)
			}
			if got := wholes(bounds); got != c.bounds {
				t.Errorf("bounds %s, want %s", got, c.bounds)
			}
		})
	}
}

func wholes(parts []Part) string {
	var out []string
	for _, p := range parts {
		out = append(out, fmt.Sprint(p.GPUs))
	}
	return strings.Join(out, " ")
}

func TestFairBeforeRounding(t *testing.T) {
	got, err := tree(t, "phys=2,bio=1").Deserved(10, of(t, "ann@phys 20,joe@phys 20,bob@bio 20"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{10. / 3, 10. / 3, 10. / 3} {
		if math.Abs(got[i].Fair-want) > 1e-9 {
			t.Errorf("part %d is %v, want %v", i, got[i].Fair, want)
		}
	}
}

func TestTreesThatAreRefused(t *testing.T) {
	a := func(account, parent, user string, shares float64) Association {
		return Association{Account: account, Parent: parent, User: user, Shares: shares}
	}
	for _, c := range []struct {
		name string
		list []Association
		want string
	}{
		{"negative", []Association{a("phys", "", "", -1)}, "account phys: -1"},
		{"not a number", []Association{a("phys", "", "", 1), a("phys", "", "ann", math.NaN())}, "user ann of account phys: NaN"},
		{"infinite", []Association{a("phys", "", "", math.Inf(1))}, "+Inf"},
		{"vanishing", []Association{a("phys", "", "", 1e-300)}, "1e-300"},
		{"no name", []Association{a("", "", "ann", 1)}, `no account (user "ann")`},
		{"unknown parent", []Association{a("lab", "phys", "", 1)}, "account lab: there is no account phys, its parent"},
		{"an account that vanished", []Association{a("phys", "", "", 1), a("bio", "", "bob", 1)}, "user bob of account bio: there is no account bio"},
		{"a circle", []Association{a("x", "y", "", 1), a("y", "z", "", 1), a("z", "x", "", 1)}, "x in y in z in x"},
		{"its own parent", []Association{a("x", "x", "", 1)}, "x in x"},
		{"an account twice", []Association{a("x", "", "", 1), a("y", "", "", 1), a("x", "y", "", 1)}, "account x are given twice"},
		{"a user twice", []Association{a("x", "", "", 1), a("x", "", "ann", 1), a("x", "", "ann", 2)}, "user ann of account x are given twice"},
		{"a user with a parent", []Association{a("x", "", "", 1), a("x", "x", "ann", 1)}, "only an account has a parent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.list); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tr := tree(t, " phys=60, bio=40,ann@phys=2,phys/theory=1,phys/theory/qcd=3,eve@qcd=0 ")
	if got := fmt.Sprint(tr.Accounts()); got != "[{phys  60 0.6 false true} {bio  40 0.4 false false} {theory phys 1 0.6 false true} {qcd theory 3 0.6 false false}]" {
		t.Error(got)
	}
	if !tr.Within("qcd", "phys") || tr.Within("qcd", "bio") || tr.Within("none", "phys") || !tr.Within("bio", "bio") {
		t.Error("Within")
	}
	if tr.users[userOf{"phys", "ann"}] != 2 || tr.users[userOf{"qcd", "eve"}] != 0 {
		t.Error(tr.users)
	}
	for text, want := range map[string]string{
		"":                          `shares ""`,
		"phys":                      `shares "phys"`,
		"phys=":                     `shares "phys="`,
		"=3":                        `shares "=3"`,
		"phys=x":                    `shares "phys=x"`,
		"phys=-3":                   "account phys: -3",
		"phys=NaN":                  "account phys: NaN",
		"phys=1,phys=2":             "given twice",
		"phys/=1":                   `"phys/"`,
		"@phys=1":                   "want USER@ACCOUNT",
		"a/b@phys=1":                "want USER@ACCOUNT",
		"a b=1":                     `"a b"`,
		"lab/x=1":                   "no account lab",
		"a=1,b=1,a/c=1,b/c/d=1":     "given as b/c/d, and is a/c/d",
		"ann@phys=1":                "no account phys",
		"phys=1,,bio=1":             `shares ""`,
		"phys=1,ann@phys=1,a@b@c=1": "without blanks",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWantsThatAreRefused(t *testing.T) {
	tr := tree(t, "phys=1")
	for name, c := range map[string]struct {
		gpus  int
		wants []Want
		want  string
	}{
		"unknown":    {1, []Want{{Account: "bio"}}, "account bio has none"},
		"no account": {1, []Want{{User: "ann"}}, "no account"},
		"twice":      {1, []Want{{Account: "phys"}, {Account: "phys"}}, "twice"},
		"negative":   {1, []Want{{Account: "phys", GPUs: -1}}, "wants -1"},
		"keeps more": {1, []Want{{Account: "phys", GPUs: 1, Least: 2}}, "keeps 2"},
		"no GPUs":    {-1, nil, "-1 GPUs"},
	} {
		if _, err := tr.Bounds(c.gpus, c.wants); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAccountsWithoutSharesAreAdded(t *testing.T) {
	tr := tree(t, "phys=1")
	more, added := tr.With("old", "phys", "gone", "old")
	if fmt.Sprint(added) != "[gone old]" || tr.Has("old") || !more.Has("gone") {
		t.Error(added)
	}
	got, err := more.Deserved(8, of(t, "ann@phys 6,bob@old 9"))
	if err != nil || wholes(got) != "6 2" {
		t.Error(wholes(got), err)
	}
	if same, none := more.With("phys", "old"); same != more || none != nil {
		t.Error("added", none)
	}
}

// Of 3600 GPU-seconds half are left after a half life, and a quarter after two.
func TestLedgerDecays(t *testing.T) {
	l := NewLedger(time.Hour)
	l.Book("phys", "ann", 2, 1, time.Hour)
	l.Pass(time.Hour)
	l.Pass(30 * time.Minute)
	l.Pass(30 * time.Minute)
	if got := l.Credit("phys", "ann"); math.Abs(got-900) > 1e-9 {
		t.Error(got)
	}
	if l.Pass(24 * time.Hour); l.Credit("phys", "ann") != 0 || len(l.credit) != 0 {
		t.Error("what is less than a GPU-second is kept")
	}
	never := NewLedger(0)
	never.Book("phys", "ann", 0, 1, time.Minute)
	if never.Pass(1000 * time.Hour); never.Credit("phys", "ann") != -60 {
		t.Error(never.Credit("phys", "ann"))
	}
}

// Two equal accounts and 3 GPUs: each has 1.5 over time, and the third GPU changes hands rarely.
func TestRemaindersTakeTurns(t *testing.T) {
	tr, l := tree(t, "a=1,b=1"), NewLedger(DefaultHalfLife)
	wants := of(t, "u@a 9,u@b 9")
	sum, turns := 0, 0
	const day = 24 * 60
	for range day {
		for i := range wants {
			wants[i].Credit = l.Credit(wants[i].Account, "u")
		}
		got, err := tr.Deserved(3, wants)
		if err != nil {
			t.Fatal(err)
		}
		if sum += got[0].GPUs; got[0].GPUs != wants[0].Has {
			turns++
		}
		l.Pass(time.Minute)
		for i := range wants {
			wants[i].Has = got[i].GPUs
			l.Book(wants[i].Account, "u", got[i].Fair, float64(got[i].GPUs), time.Minute)
		}
	}
	if part := float64(sum) / (3 * day); math.Abs(part-.5) > .01 || turns > 26 {
		t.Errorf("the first had %.3f, in %d turns", part, turns)
	}
}

// TestCreditCountsOnce: a user's credit is in each of its classes, and counts once in its part and its account's.
func TestCreditCountsOnce(t *testing.T) {
	tr := tree(t, "a=1,b=1")
	odd := func(credit float64, classes ...string) int {
		var wants []Want
		for _, class := range classes {
			wants = append(wants, Want{Account: "b", User: "u", Class: class, GPUs: 9, Credit: credit})
		}
		got, err := tr.Deserved(7, append(wants, Want{Account: "a", User: "u", GPUs: 9, Has: 4}))
		if err != nil {
			t.Fatal(err)
		}
		return 7 - got[len(got)-1].GPUs
	}
	for _, classes := range [][]string{{"x"}, {"x", "y"}, {"x", "y", "z"}} {
		if less, more := odd(Quantum*.9, classes...), odd(Quantum*1.1, classes...); less != 3 || more != 4 {
			t.Errorf("in classes %v: %d of 7 GPUs with a credit below a quantum, %d above it; want 3 and 4", classes, less, more)
		}
	}
}
