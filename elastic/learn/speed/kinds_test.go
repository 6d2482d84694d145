package speed_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// seenOn makes a sample measured on a node type.
func seenOn(kind string, gpus, nodes int, seconds float64) speed.Sample {
	s := at(gpus, nodes, seconds)
	s.Kind = kind
	return s
}

// TestKindsAreDistinguished: on a node type a job is as fast as measured there; a size that was
// tried only on the other type differs by the ratio of the types.
func TestKindsAreDistinguished(t *testing.T) {
	c := speed.Fit([]speed.Sample{
		seenOn("a100", 1, 1, 100), seenOn("a100", 2, 1, 55), seenOn("a100", 4, 1, 30), seenOn("t4", 1, 1, 300), seenOn("t4", 2, 1, 165),
	}, now)
	if got := c.KindsSeen(); !slices.Equal(got, []string{"a100", "t4"}) {
		t.Errorf("kinds %v", got)
	}
	for _, p := range []struct {
		kind string
		gpus int
		want float64
		src  speed.Source
	}{{"a100", 4, 30, speed.Measured}, {"t4", 1, 300, speed.Measured}, {"t4", 4, 90, speed.Fitted}, {"h100", 1, 100, speed.Measured}, {"a100+t4", 2, 165, speed.Measured}} {
		got, src := c.On(p.kind).Seconds(speed.Shape{GPUs: p.gpus, Nodes: 1})
		if math.Abs(got-p.want) > 1e-6*p.want || src != p.src {
			t.Errorf("%d GPUs on %s: %v %v, want %v %v", p.gpus, p.kind, got, src, p.want, p.src)
		}
	}
	if one := c.On("t4").On("a100"); seconds(one, 1, 1) != 100 {
		t.Error("a curve on one type has no link to the other's")
	}
	if got := c.On("t4").Shapes(); !slices.Equal(got, []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}}) {
		t.Errorf("shapes %v: what was seen elsewhere is not measured here", got)
	}
	if seconds(c, 1, 1) != 100 {
		t.Error("without a type, the curve with the most samples counts")
	}
}

// TestSingleKindIsNotDistinguished: if all samples are of one type, or name none, types are not
// distinguished.
func TestSingleKindIsNotDistinguished(t *testing.T) {
	plain := speed.Fit([]speed.Sample{at(1, 1, 100), at(2, 1, 55)}, now)
	mixed := speed.Fit([]speed.Sample{at(1, 1, 100), seenOn("t4", 2, 1, 55)}, now)
	for g := 1; g < 9; g++ {
		if seconds(plain, g, 1) != seconds(mixed.On("t4"), g, 1) || mixed.KindsSeen() != nil {
			t.Errorf("%d GPUs: %v and %v", g, seconds(plain, g, 1), seconds(mixed, g, 1))
		}
	}
	var none *speed.Curve
	if none.On("t4") != nil || speed.KindOf([]string{"b", "a", "b"}) != "a+b" || speed.KindOf(nil) != "" {
		t.Error("no curve, or no kind")
	}
}

// TestKindsWithStepsAlone: on a new node type the first steps predict the time of an epoch that
// was timed on the other.
func TestKindsWithStepsAlone(t *testing.T) {
	units := []speed.Sample{seenOn("a100", 1, 1, 1000), seenOn("a100", 2, 1, 520)}
	steps := []speed.Sample{seenOn("a100", 1, 1, 1), seenOn("a100", 2, 1, .52), seenOn("t4", 1, 1, 3)}
	c := speed.FitWith(units, steps, now)
	if got := seconds(c.On("t4"), 1, 1); math.Abs(got-3000) > 1 {
		t.Errorf("an epoch on t4 takes %v, want 3000", got)
	}
	if got := seconds(c.On("t4"), 2, 1); math.Abs(got-1560) > 20 {
		t.Errorf("on two of them %v, want 1560", got)
	}
}

// TestKindsAreSane: for any samples of any number of types, every answer is positive and
// finite, and the order of samples has no effect.
func TestKindsAreSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(anySample, 1, 20).Draw(t, "samples")
		for i := range samples {
			samples[i].Kind = rapid.SampledFrom([]string{"", "a", "b", "a+b"}).Draw(t, "kind")
		}
		turned := slices.Clone(samples)
		slices.Reverse(turned)
		c, d := speed.Fit(samples, now), speed.Fit(turned, now)
		for _, kind := range []string{"", "a", "b", "a+b", "c"} {
			shape := shapes.Draw(t, "asked")
			got, src := c.On(kind).Seconds(shape)
			if !(got > 0) || math.IsInf(got, 0) || src == "" {
				t.Fatalf("%v on %q: %v %q", shape, kind, got, src)
			}
			if again, _ := d.On(kind).Seconds(shape); again != got {
				t.Fatalf("%v on %q: %v, turned %v", shape, kind, got, again)
			}
		}
	})
}

// TestKnownKinds: an oracle knows every kind.
func TestKnownKinds(t *testing.T) {
	fast, slow := speed.Known(func([]int) float64 { return 1 }), speed.Known(func([]int) float64 { return 5 })
	c := speed.Kinds([]string{"a", "b"}, map[string]*speed.Curve{"a": fast, "b": slow})
	if s, _ := c.On("b").Split([]int{2}); s != 5 || !c.On("b").Exact() {
		t.Errorf("on b %v", s)
	}
	if s, _ := c.Split([]int{2}); s != 1 {
		t.Errorf("where nothing is said %v", s)
	}
}

func TestObserved(t *testing.T) {
	one := speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 5, Units: 1, At: now, Kind: "a"}
	other := one
	other.Kind, other.Seconds = "b", 9
	for name, c := range map[string]struct {
		curve *speed.Curve
		want  [2]bool // measured on a, on b
	}{
		"nothing": {nil, [2]bool{}},
		"one":     {speed.Fit([]speed.Sample{one, one}, now), [2]bool{true, false}},
		"two":     {speed.Fit([]speed.Sample{one, other}, now), [2]bool{true, true}},
		"known":   {speed.Known(func([]int) float64 { return 1 }), [2]bool{true, true}},
	} {
		if got := [2]bool{c.curve.Observed("a") > 0, c.curve.Observed("b") > 0}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestMixedRunIsNoSampleOfAType: a run on several types together is a sample of none of them,
// however many there are.
func TestMixedRunIsNoSampleOfAType(t *testing.T) {
	at := time.Unix(1e9, 0)
	sample := func(kind string, gpus int, seconds float64) speed.Sample {
		return speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Seconds: seconds, Units: 1, At: at, Kind: kind}
	}
	own := []speed.Sample{sample("t4", 1, 30), sample("t4", 2, 16)}
	alone := speed.Fit(own, at)
	mixed := speed.Fit(append(own, sample("a100+t4", 4, 90), sample("a100+t4", 4, 91), sample("a100+t4", 4, 92), sample("a100+t4", 2, 50)), at)
	for _, kind := range []string{"t4", "a100"} {
		for gpus := 1; gpus <= 8; gpus *= 2 {
			want, _ := alone.On(kind).Seconds(speed.Shape{GPUs: gpus, Nodes: 1})
			if got, _ := mixed.On(kind).Seconds(speed.Shape{GPUs: gpus, Nodes: 1}); got != want {
				t.Errorf("%d GPUs of %s: %v s, without the mixed runs %v s", gpus, kind, got, want)
			}
		}
	}
}
