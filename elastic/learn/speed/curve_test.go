package speed_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at makes a sample of this many seconds, taken a minute ago.
func at(gpus, nodes int, seconds float64) speed.Sample {
	return speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: nodes}, Seconds: seconds, Units: 1, At: now.Add(-time.Minute)}
}

func seconds(c *speed.Curve, gpus, nodes int) float64 {
	s, _ := c.Seconds(speed.Shape{GPUs: gpus, Nodes: nodes})
	return s
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: got %v, want %v within %v%%", what, got, want, tolerance*100)
	}
}

func TestNilCurveAnswersTheRelativePrior(t *testing.T) {
	var c *speed.Curve
	if s, src := c.Seconds(speed.Shape{GPUs: 1, Nodes: 1}); s != 1 || src != speed.Prior {
		t.Errorf("one GPU: %v %v", s, src)
	}
	if two := seconds(c, 2, 1); two <= 0.5 || two >= 0.6 {
		t.Errorf("two GPUs take %v: want slightly sub-linear", two)
	}
	if seconds(c, 8, 2) <= seconds(c, 8, 1) {
		t.Error("a further node costs nothing")
	}
	if c.Samples() != 0 || c.Shapes() != nil || c.Confidence(speed.Shape{GPUs: 1, Nodes: 1}) != 0 {
		t.Error("a nil curve claims to rest on something")
	}
}

func TestUnusableSamplesMakeNoCurve(t *testing.T) {
	bad := []speed.Sample{
		at(0, 0, 1), at(1, 2, 1), at(2, 0, 1), at(1, 1, 0), at(1, 1, -3), at(1, 1, math.NaN()), at(1, 1, math.Inf(1)), at(1, 1, 1e300),
	}
	bad = append(bad, speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: 1, Units: math.NaN()})
	if c := speed.Fit(bad, now); c != nil {
		t.Errorf("got %+v", c)
	}
	if c := speed.Fit(append(bad, at(1, 1, 7)), now); seconds(c, 1, 1) != 7 || c.Samples() != 1 {
		t.Errorf("one good sample among bad ones: %+v", c)
	}
}

func TestMeasuredShapesAnswerTheirSamples(t *testing.T) {
	c := speed.Fit([]speed.Sample{at(1, 1, 100), at(2, 1, 55), at(4, 1, 30), at(4, 2, 44)}, now)
	for _, p := range []struct {
		gpus, nodes int
		want        float64
	}{{1, 1, 100}, {2, 1, 55}, {4, 1, 30}, {4, 2, 44}} {
		if s, src := c.Seconds(speed.Shape{GPUs: p.gpus, Nodes: p.nodes}); s != p.want || src != speed.Measured {
			t.Errorf("%d GPUs on %d nodes: %v %v, want %v", p.gpus, p.nodes, s, src, p.want)
		}
	}
	if _, src := c.Seconds(speed.Shape{GPUs: 8, Nodes: 2}); src != speed.Fitted {
		t.Errorf("8 GPUs are %v", src)
	}
	if seconds(c, 3, 3) <= seconds(c, 3, 1) {
		t.Error("three nodes are no slower than one, though four GPUs were slower on two")
	}
}

func TestOneShapeScalesThePrior(t *testing.T) {
	c := speed.Fit([]speed.Sample{at(2, 1, 51), at(2, 1, 51)}, now)
	s, src := c.Seconds(speed.Shape{GPUs: 1, Nodes: 1})
	within(t, "one GPU", s, 100, 0.001)
	if src != speed.Prior {
		t.Errorf("source %v", src)
	}
}

// The published profile of a job that slows down with GPUs.
func TestFitMayBeNonMonotone(t *testing.T) {
	var samples []speed.Sample
	for range 3 {
		samples = append(samples, at(1, 1, 20), at(2, 1, 24), at(3, 1, 28))
	}
	c := speed.Fit(samples, now)
	if seconds(c, 4, 1) <= seconds(c, 3, 1) {
		t.Errorf("4 GPUs take %v, 3 take %v", seconds(c, 4, 1), seconds(c, 3, 1))
	}
}

func TestSuperlinearClaimsAreCapped(t *testing.T) {
	c := speed.Fit([]speed.Sample{at(1, 1, 100), at(2, 1, 1)}, now)
	within(t, "measured", seconds(c, 2, 1), 40, 1e-9)
	if got := seconds(c, 8, 1); got < 100/8/1.25-1e-9 {
		t.Errorf("unmeasured: %v", got)
	}
	if c := speed.Fit([]speed.Sample{at(1, 1, 100), at(2, 1, 45)}, now); seconds(c, 2, 1) != 45 {
		t.Errorf("a slightly superlinear speed-up is capped: %v", seconds(c, 2, 1))
	}
}

func TestLargerShapesBoundUnmeasuredSmallOnes(t *testing.T) {
	c := speed.Fit([]speed.Sample{at(2, 1, 1), at(4, 1, 3), at(6, 1, 5), at(8, 1, 7)}, now)
	if got := seconds(c, 1, 1); got < 0.25 {
		t.Errorf("one GPU takes %v", got)
	}
}

func TestRecentSamplesCountMore(t *testing.T) {
	var samples []speed.Sample
	for i := range 5 {
		old, fresh := at(1, 1, 100), at(1, 1, 104)
		old.At = now.Add(-time.Duration(48+i) * time.Hour)
		samples = append(samples, old, fresh)
	}
	if got := seconds(speed.Fit(samples, now), 1, 1); got < 102.5 {
		t.Errorf("old and new alike: %v", got)
	}
}

func TestFirstSlowEpochIsNotBelieved(t *testing.T) {
	within(t, "two samples", seconds(speed.Fit([]speed.Sample{at(1, 1, 90), at(1, 1, 30)}, now), 1, 1), 30, 1e-9)
	long := at(1, 1, 300)
	long.Units = 50
	within(t, "one long sample", seconds(speed.Fit([]speed.Sample{at(1, 1, 30), at(1, 1, 31), at(1, 1, 29), at(1, 1, 30), long}, now), 1, 1), 30, 0.02)
}

func TestConfidence(t *testing.T) {
	one := speed.Fit([]speed.Sample{at(1, 1, 10), at(2, 1, 6)}, now)
	more := speed.Fit([]speed.Sample{at(1, 1, 10), at(1, 1, 10), at(2, 1, 6), at(2, 1, 6)}, now)
	shape := func(g, n int) speed.Shape { return speed.Shape{GPUs: g, Nodes: n} }
	order := []float64{0, one.Confidence(shape(16, 4)), one.Confidence(shape(3, 1)), one.Confidence(shape(1, 1)), more.Confidence(shape(1, 1)), 1}
	for i := 1; i < len(order); i++ {
		if order[i] <= order[i-1] {
			t.Errorf("confidence does not rise: %v", order)
		}
	}
	if scaled := speed.Fit([]speed.Sample{at(1, 1, 10)}, now); scaled.Confidence(shape(2, 1)) != 0 {
		t.Error("the prior deserves no confidence")
	}
}
