package predict

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ways are splits as a small cluster allows them.
var ways = [][]int{{1}, {2}, {3}, {4}, {1, 1}, {2, 2}, {3, 1}, {4, 4}, {2, 1, 1}, {4, 4, 4}, {4, 4, 4, 4}}

// observe evaluates a truth for every split at some batches.
func observe(truth Predictor, ways [][]int, batches ...float64) []Observation {
	var out []Observation
	for _, split := range ways {
		for _, b := range batches {
			c := Configuration{Split: split, Batch: b}
			out = append(out, Observation{Configuration: c, Seconds: truth(c)})
		}
	}
	return out
}

// linear is a truth made of the terms of least squares.
func linear(c Configuration) float64 {
	g, n := float64(c.GPUs()), float64(len(c.Split))
	sum := 0.1 + 0.01*c.part() + 0.02*when(g > 1) + 0.003*max(g-2, 0) + 0.004*float64(c.Beside)
	if n > 1 {
		sum += 0.05 + 0.006*(n-1) + 0.007*float64(c.fullest()-1)
	}
	if c.Kind == "slow" {
		sum += 0.1 + 0.01*c.part()
	}
	return sum
}

// wavy is a truth that is far from any sum of the terms.
func wavy(c Configuration) float64 {
	return linear(c) * math.Exp(0.8*math.Sin(math.Log(c.part())*1.5)) * (1 + 0.5*when(c.fullest() != c.emptiest()))
}

// sevenParameters is a truth of Pollux's form.
func sevenParameters(c Configuration) float64 {
	step, _ := parameters{.1, .01, .2, .01, .05, .002, 2}.predict(c)
	return step
}

func worst(t *testing.T, f Form, train, test []Observation) float64 {
	t.Helper()
	p, err := f.Fit(train)
	if err != nil {
		t.Fatal(err)
	}
	off := 0.0
	for _, o := range test {
		off = max(off, math.Abs(p(o.Configuration)/o.Seconds-1))
	}
	return off
}

// TestFormsRecoverTheirOwnTruth: also in configurations that were not observed.
func TestFormsRecoverTheirOwnTruth(t *testing.T) {
	unseen := [][]int{{2, 2, 2}, {4, 2}, {4, 4, 4, 4, 4, 4}}
	if off := worst(t, LeastSquares, observe(linear, ways, 1, 8, 64), observe(linear, unseen, 4, 128)); off > 1e-3 {
		t.Errorf("least squares is off by %g", off)
	}
	train := observe(sevenParameters, ways, 1, 8, 64)
	for i := range train {
		_, train[i].Compute = parameters{.1, .01, .2, .01, .05, .002, 2}.predict(train[i].Configuration)
	}
	// Its regularisation causes a small error.
	if off := worst(t, Pollux, train, observe(sevenParameters, unseen, 4, 128)); off > 0.03 {
		t.Errorf("pollux is off by %g", off)
	}
}

// TestKindsAndNeighbours: the effects of a GPU type and of other jobs on a node are learned; an
// unknown type is predicted between the known ones.
func TestKindsAndNeighbours(t *testing.T) {
	var train []Observation
	for _, o := range observe(linear, ways, 1, 8, 64) {
		for _, kind := range []string{"fast", "slow"} {
			for beside := range 3 {
				o.Kind, o.Beside = kind, beside
				o.Seconds = linear(o.Configuration)
				train = append(train, o)
			}
		}
	}
	for _, f := range []Form{LeastSquares, Network} {
		p, err := f.Fit(train)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(kind string, beside int) float64 {
			return p(Configuration{Split: []int{2, 2}, Kind: kind, Batch: 8, Beside: beside})
		}
		if got, want := ask("slow", 1), linear(Configuration{Split: []int{2, 2}, Kind: "slow", Batch: 8, Beside: 1}); math.Abs(got/want-1) > 0.02 {
			t.Errorf("%s: a slow kind takes %g, want %g", f.Name, got, want)
		}
		if ask("fast", 2) <= ask("fast", 0) {
			t.Errorf("%s: neighbours cost nothing", f.Name)
		}
		if new := ask("new", 0); new <= ask("fast", 0) || new >= ask("slow", 0) {
			t.Errorf("%s: a new kind takes %g, outside %g and %g", f.Name, new, ask("fast", 0), ask("slow", 0))
		}
	}
}

// TestOneNodeSaysThatWaitingGrows: while no job trained on two nodes, four GPUs on two nodes
// are not predicted to be faster than on one.
func TestOneNodeSaysThatWaitingGrows(t *testing.T) {
	train := observe(linear, [][]int{{1}, {2}, {3}, {4}}, 8, 32)
	for _, f := range []Form{LeastSquares, Pollux} {
		p, err := f.Fit(train)
		if err != nil {
			t.Fatal(err)
		}
		one, two := p(Configuration{Split: []int{4}, Batch: 8}), p(Configuration{Split: []int{2, 2}, Batch: 8})
		far := p(Configuration{Split: []int{4, 4, 4, 4}, Batch: 8})
		if two < one*(1-1e-9) || far <= one {
			t.Errorf("%s: four on one node %g, on two %g, sixteen %g", f.Name, one, two, far)
		}
	}
}

// TestPolluxSlope: the gradient of the cost agrees with finite differences.
func TestPolluxSlope(t *testing.T) {
	train := observe(linear, ways, 1, 8)
	for i := range train {
		train[i].Compute = train[i].Seconds * 0.7
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, nodes := range []bool{true, false} {
		f := polluxFit{observations: train, nodes: nodes}
		for range 50 {
			var p parameters
			for i := range gamma {
				p[i] = 0.001 + rng.Float64()
			}
			p[gamma] = 1.01 + 8*rng.Float64()
			_, slope := f.cost(p)
			for i := range p {
				h := 1e-6 * p[i]
				above, below := p, p
				above[i] += h
				below[i] -= h
				a, _ := f.cost(above)
				b, _ := f.cost(below)
				if want := (a - b) / (2 * h); math.Abs(slope[i]-want) > 1e-4*(1+math.Abs(want)) {
					t.Fatalf("parameter %d of %v: slope %g, differences %g", i, p, slope[i], want)
				}
			}
		}
	}
}

// anyObservation draws what a job could report.
var anyObservation = rapid.Custom(func(t *rapid.T) Observation {
	return Observation{
		Configuration: anyConfiguration.Draw(t, "configuration"),
		Seconds:       rapid.OneOf(rapid.Float64Range(1e-8, 1e11), rapid.Float64Range(0.01, 10)).Draw(t, "seconds"),
		Weight:        rapid.SampledFrom([]float64{0, 1, 17, 1e-3}).Draw(t, "weight"),
	}
})

var anyConfiguration = rapid.Custom(func(t *rapid.T) Configuration {
	return Configuration{
		Split:  rapid.SliceOfN(rapid.IntRange(1, 9), 1, 5).Draw(t, "split"),
		Kind:   rapid.SampledFrom([]string{"", "a100", "t4"}).Draw(t, "kind"),
		Batch:  rapid.SampledFrom([]float64{1, 16, 1e6}).Draw(t, "batch"),
		Beside: rapid.IntRange(0, 3).Draw(t, "beside"),
	}
})

func TestAnswersArePositiveAndFinite(t *testing.T) {
	some := rapid.SliceOfN(anyObservation, 1, 9)
	answers := func(t rapid.TB, f Form, all []Observation, asked Configuration) {
		p, err := f.Fit(all)
		if err != nil {
			t.Fatal(err)
		}
		if got := p(asked); !(got > 0) || math.IsInf(got, 0) {
			t.Fatalf("%s: %v", f.Name, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]Form{LeastSquares, Curve, Pollux}).Draw(t, "form")
		answers(t, f, some.Draw(t, "observations"), anyConfiguration.Draw(t, "asked"))
	})
	for i := range 3 { // training takes longer
		answers(t, Network, some.Example(i), anyConfiguration.Example(i))
		answers(t, NetworkAlone, some.Example(i), anyConfiguration.Example(i))
	}
}

func TestGarbageIsRefused(t *testing.T) {
	good := Observation{Configuration: Configuration{Split: []int{2}, Batch: 8}, Seconds: 1}
	for name, spoil := range map[string]func(*Observation){
		"no nodes": func(o *Observation) { o.Split = nil }, "no GPUs": func(o *Observation) { o.Split = []int{2, 0} },
		"NaN": func(o *Observation) { o.Seconds = math.NaN() }, "Inf": func(o *Observation) { o.Seconds = math.Inf(1) }, "zero": func(o *Observation) { o.Seconds = 0 },
		"batch": func(o *Observation) { o.Batch = math.NaN() }, "mixed": func(o *Observation) { o.Batch = 0 }, "beside": func(o *Observation) { o.Beside = -1 },
		"weight": func(o *Observation) { o.Weight = -1 }, "compute": func(o *Observation) { o.Compute = math.Inf(1) },
	} {
		bad := good
		bad.Split = slices.Clone(good.Split)
		spoil(&bad)
		var e *Unusable
		if _, err := Choose([]Form{LeastSquares}, []Observation{good, bad}, nil); !errors.As(err, &e) || e.Index != 1 || e.Why == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Choose([]Form{LeastSquares}, nil, nil); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing: %v", err)
	}
	c, err := Choose([]Form{LeastSquares}, []Observation{good}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Seconds(Configuration{}); err == nil {
		t.Error("a configuration without nodes is answered")
	}
}
