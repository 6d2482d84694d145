package bandit

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestBonusShrinks: the bonus shrinks with each observation of the pair, and grows slowly with
// those of other pairs.
func TestBonusShrinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scatter := rapid.Float64Range(0.01, 2).Draw(t, "scatter")
		n, all := rapid.IntRange(0, 1000).Draw(t, "n"), rapid.IntRange(1000, 1e6).Draw(t, "all")
		b := Bonus(scatter, n, all)
		switch {
		case !(b > 0) || math.IsInf(b, 0):
			t.Fatalf("%v", b)
		case n > 0 && Bonus(scatter, n+1, all) >= b:
			t.Fatal("it does not shrink")
		case Bonus(scatter, n, all*all) < b || Bonus(scatter, n, all*all) > 1.2*b:
			t.Fatalf("from %d to %d it goes from %v to %v", all, all*all, b, Bonus(scatter, n, all*all))
		}
	})
}

func TestNeverTriedIsNought(t *testing.T) {
	var a Arm
	if a.Mean != 0 || a.Optimistic(.5, 10) != Bonus(.5, 1, 10) {
		t.Fatalf("%+v", a)
	}
	a.Observe(3)
	a.Observe(5)
	if a.Mean != 4 || a.Count != 2 {
		t.Fatalf("%+v", a)
	}
}

// TestTruthIsBelow: in 19 of 20 random walks the truth never exceeds the optimistic estimate,
// however long the walk.
func TestTruthIsBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	missed := 0
	for range 200 {
		var a Arm
		for range 2000 {
			a.Observe(1 + .3*rng.NormFloat64())
			if a.Optimistic(.3, a.Count) < 1 {
				missed++
				break
			}
		}
	}
	if missed > 10 {
		t.Fatalf("missed in %d of 200", missed)
	}
}
