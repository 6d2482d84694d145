package speed_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

var shapes = rapid.Custom(func(t *rapid.T) speed.Shape {
	g := rapid.IntRange(1, 64).Draw(t, "gpus")
	return speed.Shape{GPUs: g, Nodes: rapid.IntRange(1, g).Draw(t, "nodes")}
})

// anySample draws what a job could report, sensible or not.
var anySample = rapid.Custom(func(t *rapid.T) speed.Sample {
	s := speed.Sample{
		Shape:   shapes.Draw(t, "shape"),
		Seconds: rapid.OneOf(rapid.Float64(), rapid.Float64Range(0.001, 1000)).Draw(t, "seconds"),
		Units:   rapid.OneOf(rapid.Float64(), rapid.Float64Range(0.1, 100)).Draw(t, "units"),
		At:      now.Add(-time.Duration(rapid.IntRange(-100, 1e6).Draw(t, "age")) * time.Second),
	}
	if rapid.IntRange(0, 9).Draw(t, "impossible") == 0 {
		s.GPUs, s.Nodes = s.Nodes-1, s.GPUs
	}
	return s
})

func TestAnswersArePositiveAndFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := speed.Fit(rapid.SliceOfN(anySample, 0, 30).Draw(t, "samples"), now)
		for range 10 {
			shape := shapes.Draw(t, "asked")
			got, src := c.Seconds(shape)
			if !(got > 0) || math.IsInf(got, 0) || src == "" {
				t.Fatalf("%v: %v %q", shape, got, src)
			}
			if conf := c.Confidence(shape); !(conf >= 0 && conf < 1) {
				t.Fatalf("%v: confidence %v", shape, conf)
			}
		}
	})
}

func TestOrderOfSamplesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(anySample, 1, 20).Draw(t, "samples")
		shuffled := append([]speed.Sample(nil), samples...)
		rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		a, b := speed.Fit(samples, now), speed.Fit(shuffled, now)
		for range 5 {
			shape := shapes.Draw(t, "asked")
			x, srcX := a.Seconds(shape)
			y, srcY := b.Seconds(shape)
			if x != y || srcX != srcY {
				t.Fatalf("%v: %v %v, shuffled %v %v", shape, x, srcX, y, srcY)
			}
		}
	})
}

// truth is a curve of the form, in seconds.
type truth struct{ a, b, c, d float64 }

func (f truth) seconds(s speed.Shape) float64 {
	return f.a/float64(s.GPUs) + f.b + f.c*float64(s.GPUs-1) + f.d*float64(s.Nodes-1)
}

func truths(t *rapid.T) truth {
	a := rapid.Float64Range(0.5, 500).Draw(t, "a")
	share := func(name string, most float64) float64 { return a * rapid.Float64Range(0, most).Draw(t, name) }
	return truth{a, share("b", 0.3), share("c", 0.02), share("d", 0.1)}
}

// observe samples the truth in shapes that distinguish all its terms.
func observe(f truth, each int, noise func() float64) []speed.Sample {
	var out []speed.Sample
	for _, s := range []speed.Shape{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {8, 2}, {16, 4}} {
		for range each {
			out = append(out, at(s.GPUs, s.Nodes, f.seconds(s)*noise()))
		}
	}
	return out
}

func TestFitRecoversKnownCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := truths(t)
		c := speed.Fit(observe(f, 3, func() float64 { return 1 }), now)
		for _, s := range []speed.Shape{{3, 1}, {4, 2}, {6, 1}, {12, 2}, {12, 3}} {
			got, src := c.Seconds(s)
			if want := f.seconds(s); src != speed.Fitted || math.Abs(got-want) > 0.08*want {
				t.Fatalf("%v: got %v (%v), want %v", s, got, src, want)
			}
		}
	})
}

func TestOneOutlierMovesLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := truths(t)
		noise := func() float64 { return rapid.Float64Range(0.97, 1.03).Draw(t, "noise") }
		samples := observe(f, 6, noise)
		clean := speed.Fit(samples, now)
		bad := samples[rapid.IntRange(0, len(samples)-1).Draw(t, "which")]
		bad.Seconds *= rapid.OneOf(rapid.Float64Range(1.2, 100), rapid.Float64Range(0.01, 0.8)).Draw(t, "factor")
		bad.Units = rapid.Float64Range(0.1, 100).Draw(t, "units")
		dirty := speed.Fit(append(samples, bad), now)
		for _, s := range []speed.Shape{bad.Shape, {1, 1}, {3, 1}, {8, 2}, {12, 3}} {
			x, y := seconds(clean, s.GPUs, s.Nodes), seconds(dirty, s.GPUs, s.Nodes)
			if math.Abs(x-y) > 0.08*x {
				t.Fatalf("%v: %v became %v", s, x, y)
			}
		}
	})
}

func TestSpeedupIsNeverBeyondBelief(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := speed.Fit(rapid.SliceOfN(anySample, 1, 20).Draw(t, "samples"), now)
		asked := shapes.Draw(t, "asked")
		for _, s := range c.Shapes() {
			if s.GPUs >= asked.GPUs {
				continue
			}
			speedup := seconds(c, s.GPUs, s.Nodes) / seconds(c, asked.GPUs, asked.Nodes)
			if speedup > 1.25*float64(asked.GPUs)/float64(s.GPUs)*(1+1e-9) {
				t.Fatalf("%v is %v times as fast as %v", asked, speedup, s)
			}
		}
	})
}
