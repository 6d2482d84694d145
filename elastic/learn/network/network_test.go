package network

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// wavy draws examples of a function that is far from any plane.
func wavy(seed uint64, count int) []Example {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]Example, count)
	for i := range out {
		x, y := 4*rng.Float64()-2, 4*rng.Float64()-2
		out[i] = Example{[]float64{x, 100 * y, 7}, 50 + 10*math.Sin(x)*y, 1}
	}
	return out
}

// TestSlopeIsTheLossDerivative: back-propagation agrees with finite differences in
// every parameter.
func TestSlopeIsTheLossDerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, hidden, rows := rapid.IntRange(1, 4).Draw(t, "inputs"), rapid.IntRange(1, 5).Draw(t, "hidden"), rapid.IntRange(1, 6).Draw(t, "rows")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m, b := newMember(inputs, hidden, rng), newExamples(rows, inputs)
		for i := range rows {
			for j := range inputs {
				b.in.Set(i, j, rng.NormFloat64())
			}
			b.out[i], b.weight[i] = 2*rng.NormFloat64(), 0.1+rng.Float64()
		}
		slope := make([]float64, len(m.all))
		m.slope(b, slope)
		for i := range m.all {
			const h = 1e-6
			had := m.all[i]
			m.all[i] = had + h
			above := m.loss(b)
			m.all[i] = had - h
			below := m.loss(b)
			m.all[i] = had
			if want := (above - below) / (2 * h); math.Abs(slope[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("parameter %d: slope %g, differences %g", i, slope[i], want)
			}
		}
	})
}

// TestAdam compares the first steps with algorithm 1, computed by hand: the first step has the
// length of the rate in every parameter, whatever the gradient.
func TestAdam(t *testing.T) {
	a, p := newAdam(2), []float64{1, 1}
	a.step(p, []float64{1000, -0.001}, 0.1)
	if math.Abs(p[0]-0.9) > 1e-5 || math.Abs(p[1]-1.1) > 1e-4 {
		t.Errorf("after one step: %v", p)
	}
	// Second step with gradient 0: mean 0.09*1000/0.19, square 0.999*1e3/(1-0.998001).
	a.step(p, []float64{0, 0}, 0.1)
	want := 0.9 - 0.1*(0.09*1000/0.19)/math.Sqrt(0.999*1e3/(1-0.999*0.999))
	if math.Abs(p[0]-want) > 1e-4 {
		t.Errorf("after two steps: %v, want %v", p[0], want)
	}
}

// TestLearnsWhatNoPlaneFits: the error on points that were not examples is a tenth of the
// spread.
func TestLearnsWhatNoPlaneFits(t *testing.T) {
	n, err := Train(wavy(1, 300), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var squares, spread float64
	for _, e := range wavy(2, 200) {
		got, err := n.Answer(e.In)
		if err != nil {
			t.Fatal(err)
		}
		squares += (got - e.Out) * (got - e.Out)
		spread += (e.Out - 50) * (e.Out - 50)
	}
	if ratio := math.Sqrt(squares / spread); ratio > 0.15 {
		t.Errorf("off by %.3f of the spread", ratio)
	}
}

// TestWeightsCount: of two contradicting examples the one with more weight decides.
func TestWeightsCount(t *testing.T) {
	all := []Example{{[]float64{0}, 0, 1}, {[]float64{1}, 1, 100}, {[]float64{1}, 3, 1}}
	n, err := Train(all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := n.Answer([]float64{1}); math.Abs(got-1) > 0.2 {
		t.Errorf("got %g, want about 1", got)
	}
}

func TestSameExamplesSameNetwork(t *testing.T) {
	train := func(seed uint64) float64 {
		n, err := Train(wavy(1, 100), Options{Steps: 50, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := n.Answer([]float64{1, 1, 7})
		return got
	}
	if a, b := train(5), train(5); a != b {
		t.Errorf("%v and %v", a, b)
	}
	if train(5) == train(6) {
		t.Error("the seed changes nothing")
	}
}

// TestConstantInputHasNoEffect: an input that was the same in every example does not change
// the answer.
func TestConstantInputHasNoEffect(t *testing.T) {
	n, err := Train(wavy(1, 50), Options{Steps: 50})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := n.Answer([]float64{1, 1, 7})
	b, _ := n.Answer([]float64{1, 1, 7000})
	if a != b {
		t.Errorf("%v became %v", a, b)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := Example{[]float64{1, 2}, 3, 1}
	for name, bad := range map[string]Example{
		"NaN in": {[]float64{nan, 2}, 3, 1}, "Inf in": {[]float64{1, inf}, 3, 1}, "NaN out": {[]float64{1, 2}, nan, 1},
		"huge": {[]float64{1, 1e200}, 3, 1}, "no weight": {[]float64{1, 2}, 3, 0}, "NaN weight": {[]float64{1, 2}, 3, nan}, "short": {[]float64{1}, 3, 1},
	} {
		var e *BadExample
		if _, err := Train([]Example{good, bad}, Options{}); !errors.As(err, &e) || e.Index != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Train(nil, Options{}); !errors.Is(err, ErrNoExamples) {
		t.Errorf("nothing: %v", err)
	}
	n, err := Train([]Example{good}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range [][]float64{nil, {1}, {1, nan}, {1, inf}} {
		if _, err := n.Answer(in); !errors.Is(err, ErrInput) {
			t.Errorf("%v: %v", in, err)
		}
	}
}

// TestAnswersAreFinite: for all examples and all inputs.
func TestAnswersAreFinite(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(-1e99, 1e99), rapid.Float64Range(-5, 5), rapid.Just(0.))
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 3).Draw(t, "inputs")
		row := rapid.SliceOfN(number, width, width)
		var all []Example
		for range rapid.IntRange(1, 8).Draw(t, "examples") {
			all = append(all, Example{row.Draw(t, "in"), number.Draw(t, "out"), rapid.Float64Range(1e-99, 1e99).Draw(t, "weight")})
		}
		n, err := Train(all, Options{Steps: 20, Hidden: 4, Members: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.Answer(row.Draw(t, "asked")); err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
			t.Fatalf("%v %v", got, err)
		}
	})
}
