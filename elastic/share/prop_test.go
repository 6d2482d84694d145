package share

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawTree draws up to three levels of accounts, and some users with shares.
func drawTree(t *rapid.T) ([]Association, []string) {
	shares := rapid.SampledFrom([]float64{0, 0.001, 0.5, 1, 1, 2, 3, 60, 1000, 1 << 31})
	var list []Association
	var names []string
	for i := range rapid.IntRange(1, 8).Draw(t, "accounts") {
		a := Association{Account: fmt.Sprintf("a%d", i), Shares: shares.Draw(t, "shares")}
		if i > 0 && rapid.Bool().Draw(t, "below") {
			a.Parent = rapid.SampledFrom(names).Draw(t, "parent")
		}
		list, names = append(list, a), append(names, a.Account)
	}
	for _, name := range names {
		for u := range rapid.IntRange(0, 2).Draw(t, "users") {
			list = append(list, Association{Account: name, User: fmt.Sprintf("u%d", u), Shares: shares.Draw(t, "user's shares")})
		}
	}
	return list, names
}

func drawWants(t *rapid.T, accounts []string, keeps bool) []Want {
	var out []Want
	for _, name := range accounts {
		for u := range rapid.IntRange(0, 3).Draw(t, "who want") {
			w := Want{Account: name, User: fmt.Sprintf("u%d", u), GPUs: rapid.IntRange(0, 20).Draw(t, "want"), Has: rapid.IntRange(0, 9).Draw(t, "has")}
			if keeps {
				w.Least = rapid.IntRange(0, w.GPUs).Draw(t, "least")
			}
			w.Credit = float64(rapid.IntRange(-9000, 9000).Draw(t, "credit"))
			out = append(out, w)
		}
	}
	return out
}

func built(t *rapid.T, list []Association) *Tree {
	tr, err := New(list)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func divided(t *rapid.T, tr *Tree, gpus int, wants []Want) []Part {
	got, err := tr.Bounds(gpus, wants)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func totals(wants []Want, parts []Part) (want, least, given int) {
	for i, w := range wants {
		want, least, given = want+w.GPUs, least+w.Least, given+parts[i].GPUs
	}
	return want, least, given
}

// Nothing is idle that is wanted, no one is given more than it wants or less than it keeps, and
// the order of the associations and wants plays no part.
func TestADivisionIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, accounts := drawTree(t)
		wants, gpus := drawWants(t, accounts, rapid.Bool().Draw(t, "keeps")), rapid.IntRange(0, 100).Draw(t, "gpus")
		tr := built(t, list)
		parts := divided(t, tr, gpus, wants)
		want, least, given := totals(wants, parts)
		if given != max(least, min(gpus, want)) {
			t.Fatalf("%d of %d GPUs are given; %d are wanted and %d kept", given, gpus, want, least)
		}
		for i, w := range wants {
			if p := parts[i]; p.GPUs < w.Least || p.GPUs > w.GPUs || math.IsNaN(p.Fair) || p.Fair < float64(w.Least)-tiny || p.Fair > float64(w.GPUs)+tiny {
				t.Fatalf("%+v gets %+v", w, p)
			}
		}
		order := rapid.Permutation(indices(len(wants))).Draw(t, "order")
		mixed := make([]Want, len(wants))
		for i, k := range order {
			mixed[i] = wants[k]
		}
		again := divided(t, built(t, rapid.Permutation(list).Draw(t, "associations")), gpus, mixed)
		for i, k := range order {
			if again[i].GPUs != parts[k].GPUs {
				t.Fatalf("%+v gets %d in another order, %d before", mixed[i], again[i].GPUs, parts[k].GPUs)
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Member by member, independently of how the division is computed: a sibling that wants more has at
// least what its shares give it, as any other that is above what it keeps, up to one GPU.
func TestSiblingsAreLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, accounts := drawTree(t)
		wants, gpus := drawWants(t, accounts, rapid.Bool().Draw(t, "keeps")), rapid.IntRange(0, 100).Draw(t, "gpus")
		d, err := built(t, list).division(gpus, wants)
		if err != nil {
			t.Fatal(err)
		}
		d.divide(gpus)
		walk(d.root, func(m *member) {
			all, shares := 0, 0.0
			for _, a := range m.members {
				all, shares = all+a.gpus, shares+a.shares
			}
			if all != m.gpus && len(m.members) > 0 && m != d.root {
				t.Fatalf("%q has %d, its members %d", m.name, m.gpus, all)
			}
			for _, a := range m.members {
				for _, b := range m.members {
					level(t, a, b)
				}
				if own := math.Floor(float64(m.gpus)*a.shares/max(shares, 1e-9) - tiny); m.least == 0 && a.gpus < min(a.want, int(own)) {
					t.Fatalf("%q has %d of %d; its shares give it %v, and it wants %d", a.name, a.gpus, m.gpus, own, a.want)
				}
			}
		})
	})
}

// level fails if a is below b: it wants more, and b has a GPU that would make it no lower than a.
func level(t *rapid.T, a, b *member) {
	switch {
	case a == b || a.gpus >= a.want || b.gpus <= b.least || a.gpus < a.least:
	case a.shares > 0 && b.shares == 0:
		t.Fatalf("%q wants more and %q, without shares, has %d", a.name, b.name, b.gpus)
	case a.shares > 0 && float64(a.gpus+1)/a.shares < float64(b.gpus-1)/b.shares-tiny:
		t.Fatalf("%q has %d for %v shares and wants %d; %q has %d for %v", a.name, a.gpus, a.shares, a.want, b.name, b.gpus, b.shares)
	}
}

func walk(m *member, see func(*member)) {
	see(m)
	for _, below := range m.members {
		walk(below, see)
	}
}

// More shares never mean fewer GPUs, for a user or an account.
func TestMoreSharesGiveNoFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, accounts := drawTree(t)
		wants, gpus := drawWants(t, accounts, rapid.Bool().Draw(t, "keeps")), rapid.IntRange(0, 100).Draw(t, "gpus")
		k := rapid.IntRange(0, len(list)-1).Draw(t, "who gets more")
		of := list[k]
		before := has(built(t, list), divided(t, built(t, list), gpus, wants), wants, of)
		list[k].Shares = min(mostShares, list[k].Shares*rapid.Float64Range(1, 20).Draw(t, "times")+rapid.SampledFrom([]float64{0, 1, 50}).Draw(t, "plus"))
		if after := has(built(t, list), divided(t, built(t, list), gpus, wants), wants, of); after < before {
			t.Fatalf("%v has %d with %v shares and %d with %v", of, before, of.Shares, after, list[k].Shares)
		}
	})
}

// has counts what an association has.
func has(tr *Tree, parts []Part, wants []Want, of Association) (n int) {
	for i, w := range wants {
		if of.User != "" && w.Account == of.Account && w.User == of.User || of.User == "" && tr.Within(w.Account, of.Account) {
			n += parts[i].GPUs
		}
	}
	return n
}

// A user that claims more, or less, than it can use gets no more that it can use.
func TestLyingGainsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, accounts := drawTree(t)
		wants, gpus := drawWants(t, accounts, false), rapid.IntRange(0, 100).Draw(t, "gpus")
		if len(wants) == 0 {
			t.Skip()
		}
		tr, k := built(t, list), rapid.IntRange(0, len(wants)-1).Draw(t, "who lies")
		honest := divided(t, tr, gpus, wants)[k].GPUs
		lie := slices.Clone(wants)
		lie[k].GPUs = rapid.IntRange(0, 60).Draw(t, "lie")
		if got := min(wants[k].GPUs, divided(t, tr, gpus, lie)[k].GPUs); got > honest {
			t.Fatalf("%+v: %d by a claim of %d, %d honestly", wants[k], got, lie[k].GPUs, honest)
		}
	})
}

// TestTenThousandAssociationsAreQuick: 10,000 associations cost n log n steps, however they hang together.
func TestTenThousandAssociationsAreQuick(t *testing.T) {
	const n = 10_000
	for name, parent := range map[string]func(int) string{
		"flat":  func(int) string { return "" },
		"deep":  func(i int) string { return fmt.Sprintf("a%d", i-1) },
		"a bag": func(i int) string { return fmt.Sprintf("a%d", (i-1)/10) },
	} {
		var list []Association
		var wants []Want
		for i := range n / 2 {
			a := Association{Account: fmt.Sprintf("a%d", i), Shares: float64(1 + i*7919%100)}
			if i > 0 {
				a.Parent = parent(i)
			}
			list = append(list, a, Association{Account: a.Account, User: "u", Shares: 1})
			wants = append(wants, Want{Account: a.Account, User: "u", GPUs: 1 + i%40})
		}
		if name == "deep" { // a chain costs its depth for every user
			list, wants = list[:2000], wants[:1000]
		}
		tr, err := New(list)
		if err != nil {
			t.Fatal(err)
		}
		d, err := tr.division(5000, wants)
		if err != nil {
			t.Fatal(err)
		}
		if d.divide(5000); float64(d.steps) > 20*n*math.Log2(n) {
			t.Errorf("%s: %d steps", name, d.steps)
		}
	}
}
