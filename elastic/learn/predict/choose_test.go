package predict

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/learn/network"
)

// contest includes a network that is trained only briefly.
var contest = []Form{LeastSquares, networkOf(network.Options{Steps: 200, Members: 1, Rate: 0.03})}

func choose(t *testing.T, observations []Observation) *Choice {
	t.Helper()
	c, err := Choose(contest, observations, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSimplerFormIsSelectedUnlessAnotherIsBetter: least squares predicts what it fits; the
// network predicts the rest, inside the measured range.
func TestSimplerFormIsSelectedUnlessAnotherIsBetter(t *testing.T) {
	plain := choose(t, observe(linear, ways, 4, 64))
	if plain.Within.Best != 0 || plain.Beyond.Best != 0 {
		t.Errorf("for its own truth least squares is not chosen: %+v, %+v", plain.Within, plain.Beyond)
	}
	all := observe(wavy, ways[2:8], 1, 2, 4, 8, 16, 32, 64)
	bent := choose(t, all)
	if bent.Within.Best != 1 || bent.Within.Errors[1] > 0.7*bent.Within.Errors[0] {
		t.Errorf("for a wavy truth the network is not chosen: %+v", bent.Within)
	}
	if bent.Within.Held != len(all) {
		t.Errorf("each is held back once: %d", bent.Within.Held)
	}
}

// TestSelectionBeyondTheMeasuredRange: larger sizes than any measured, and other GPU types, are
// predicted by the form that was best on held-back larger ones.
func TestSelectionBeyondTheMeasuredRange(t *testing.T) {
	c, err := Choose([]Form{LeastSquares, LeastSquares}, observe(wavy, ways, 1, 4, 16, 64), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Within.Best, c.Beyond.Best = 1, 0
	for _, q := range []struct {
		Configuration
		want int
	}{
		{Configuration{Split: []int{2, 2}, Batch: 8}, 1},
		{Configuration{Split: []int{3, 3, 3}, Batch: 16}, 1}, // a split that was not measured, between others
		{Configuration{Split: []int{4, 4, 4, 4, 1}, Batch: 8}, 0},
		{Configuration{Split: []int{5}, Batch: 8}, 0},
		{Configuration{Split: []int{2, 2}, Batch: 128}, 0},
		{Configuration{Split: []int{2, 2}, Batch: 8, Kind: "t4"}, 0},
		{Configuration{Split: []int{2, 2}, Batch: 8, Beside: 1}, 0},
	} {
		if got := c.FormOf(q.Configuration); got != q.want {
			t.Errorf("%+v is answered by %s", q.Configuration, c.Forms[got].Name)
		}
	}
}

// TestFewObservationsSelectTheFirstForm: with few observations nothing is held back, and the first form
// predicts.
func TestFewObservationsSelectTheFirstForm(t *testing.T) {
	c := choose(t, observe(wavy, ways[:fewest-1], 8))
	if len(c.Within.Errors) != 0 || len(c.Beyond.Errors) != 0 || c.Within.Best != 0 || c.Beyond.Best != 0 {
		t.Errorf("%+v %+v", c.Within, c.Beyond)
	}
	one := choose(t, observe(wavy, ways[3:4], 1, 2, 4, 8, 16, 32))
	if one.Within.Held == 0 || one.Beyond.Held != 0 || one.Beyond.Best != 0 {
		t.Errorf("of one size nothing larger can be held back: %+v", one.Beyond)
	}
}

// TestOrderDoesNotMatter: the same observations give the same prediction, in any order and at
// any time.
func TestOrderDoesNotMatter(t *testing.T) {
	all := observe(wavy, ways[3:8], 1, 4)
	turned := slices.Clone(all)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(turned), func(i, j int) { turned[i], turned[j] = turned[j], turned[i] })
	a, b := choose(t, all), choose(t, turned)
	if !slices.Equal(a.Within.Errors, b.Within.Errors) || !slices.Equal(a.Beyond.Errors, b.Beyond.Errors) {
		t.Errorf("%+v %+v, turned %+v %+v", a.Within, a.Beyond, b.Within, b.Beyond)
	}
	q := Configuration{Split: []int{3, 3}, Batch: 7}
	x, err1 := a.Seconds(q)
	y, err2 := b.Seconds(q)
	if x != y || errors.Join(err1, err2) != nil {
		t.Errorf("%v and %v", x, y)
	}
}

// TestFailedFormIsNotSelected: another form predicts; it is an error only if none can.
func TestFailedFormIsNotSelected(t *testing.T) {
	broken := Form{"broken", func([]Observation) (Predictor, error) { return nil, errSingular }}
	all := observe(linear, ways, 1, 4)
	c, err := Choose([]Form{broken, LeastSquares}, all, nil)
	if err != nil || c.Within.Best != 1 || !math.IsInf(c.Within.Errors[0], 1) {
		t.Fatalf("%v %+v", err, c)
	}
	if _, err := Choose([]Form{broken}, all, nil); !errors.Is(err, errSingular) {
		t.Errorf("%v", err)
	}
}

// TestClearly: a difference counts if it is more than its standard error.
func TestClearly(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		a, b []float64
		want bool
	}{
		{[]float64{.2, .2, .2}, []float64{.1, .1, .1}, true},
		{[]float64{.1, .1, .1}, []float64{.2, .2, .2}, false},
		{[]float64{.1, .5, .1}, []float64{.1, .1, .2}, false}, // one improvement alone
		{[]float64{.3, .5, .4}, []float64{.1, .1, .2}, true},
		{[]float64{.3}, []float64{.1}, false}, // one difference has no standard error
		{[]float64{inf, .1}, []float64{.5, .5}, true},
		{[]float64{.5, .5}, []float64{inf, .1}, false},
		{[]float64{inf, inf}, []float64{inf, inf}, false},
	} {
		if got := clearly(c.a, c.b); got != c.want {
			t.Errorf("%v against %v: %v", c.a, c.b, got)
		}
	}
}

// TestCuts: the larger observations are held back, and at least two sizes remain.
func TestCuts(t *testing.T) {
	var all []Observation
	for _, g := range []int{1, 2, 3, 4, 5, 6, 7, 8} {
		all = append(all, Observation{Configuration: Configuration{Split: []int{g}}, Seconds: 1})
	}
	count := func(held []bool) (n int) {
		for i, h := range held {
			if h {
				n++
			} else if n > 0 {
				t.Errorf("%v: %d GPUs are known and fewer are not", held, all[i].GPUs())
			}
		}
		return n
	}
	var got []int
	for _, held := range cuts(all) {
		got = append(got, count(held))
	}
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("held back %v", got)
	}
	all[7].Split = []int{4, 4}
	if n := len(cuts(all)); n != 4 {
		t.Errorf("with a second node there are %d cuts, want 4", n)
	}
}

// TestHeldBackTogether: observations that belong together are held back all or not at all.
func TestHeldBackTogether(t *testing.T) {
	all := ordered(observe(wavy, ways, 1, 4))
	size := func(c Configuration) string { return strconv.Itoa(c.GPUs()) }
	often := make([]int, len(all))
	for _, held := range folds(all, size) {
		for i := range all {
			if held[i] {
				often[i]++
			}
			for k := range all {
				if all[i].GPUs() == all[k].GPUs() && held[i] != held[k] {
					t.Fatalf("%v and %v are parted", all[i].Configuration, all[k].Configuration)
				}
			}
		}
	}
	for i, n := range often {
		if n != 1 {
			t.Errorf("%v is held back %d times", all[i].Configuration, n)
		}
	}
	if folds(all, func(Configuration) string { return "" }) != nil {
		t.Error("all of them together are held back")
	}
}
