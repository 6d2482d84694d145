package speed_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

func hoped(c *speed.Curve, gpus, nodes int) float64 {
	s, _ := c.Hoped(speed.Shape{GPUs: gpus, Nodes: nodes})
	return s
}

// dented is a curve of the form, except for 8 GPUs on two nodes, which are 40% slower.
func dented() (smooth, dented []speed.Sample) {
	f := truth{a: 100, b: 2}
	smooth = observe(f, 3, func() float64 { return 1 })
	dented = append(dented, smooth...)
	for i, s := range dented {
		if s.GPUs == 8 && s.Nodes == 2 {
			dented[i].Seconds *= 1.4
		}
	}
	return smooth, dented
}

func TestNeighboursShareADeviation(t *testing.T) {
	a, b := dented()
	smooth, dented := speed.Fit(a, now), speed.Fit(b, now)
	slower := func(gpus, nodes int) float64 {
		return seconds(dented, gpus, nodes) / seconds(smooth, gpus, nodes)
	}
	if near, far := slower(7, 2), slower(64, 16); near < 1.1 || near > 1.4 || near < far {
		t.Errorf("8 GPUs on 2 nodes are 1.4 times slower: 7 are taken to be %.2f times, 64 on 16 %.2f", near, far)
	}
}

func TestOnlyUntriedSizesGetABonus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := speed.Fit(rapid.SliceOfN(anySample, 0, 30).Draw(t, "samples"), now)
		for _, s := range c.Shapes() {
			if hoped(c, s.GPUs, s.Nodes) != seconds(c, s.GPUs, s.Nodes) {
				t.Fatalf("%v is measured", s)
			}
		}
		s := shapes.Draw(t, "asked")
		honest, hope := seconds(c, s.GPUs, s.Nodes), hoped(c, s.GPUs, s.Nodes)
		if hope > honest || hope < 0.91*honest {
			t.Fatalf("%v: %v hoped for, %v expected", s, hope, honest)
		}
	})
}

func TestHopeShrinksNearMeasuredShapes(t *testing.T) {
	a, _ := dented()
	c := speed.Fit(a, now)
	gain := func(gpus, nodes int) float64 { return 1 - hoped(c, gpus, nodes)/seconds(c, gpus, nodes) }
	if near, far := gain(7, 2), gain(64, 16); near <= 0 || near >= far {
		t.Errorf("7 GPUs beside 8 gain %.3f, 64 gain %.3f", near, far)
	}
	if c := (*speed.Curve)(nil); hoped(c, 4, 2) != seconds(c, 4, 2) {
		t.Error("nothing is known, and one shape is singled out")
	}
}

func TestSpreadingIsNotHopedFor(t *testing.T) {
	c := speed.Fit([]speed.Sample{at(1, 1, 100), at(4, 1, 40)}, now)
	if hoped(c, 4, 2) < 40 {
		t.Errorf("4 GPUs take 40 s on one node and, by hope, %v on two", hoped(c, 4, 2))
	}
	if hoped(c, 6, 3) < hoped(c, 6, 2) || hoped(c, 2, 2) < hoped(c, 2, 1) {
		t.Error("without a sample that says so spreading is faster")
	}
	spread := speed.Fit([]speed.Sample{at(1, 1, 100), at(4, 1, 40), at(4, 2, 30)}, now)
	if got := hoped(spread, 4, 2); got != 30 {
		t.Errorf("two nodes were measured at 30 s and are taken for %v", got)
	}
}

// A curve of more shapes than the residual uses still answers for all of them.
func TestManyShapes(t *testing.T) {
	f := truth{a: 1000, b: 10, d: 1}
	var samples []speed.Sample
	for g := 1; g <= 40; g++ {
		for n := 1; n <= g && n <= 12; n++ {
			for range 1 + (g*n)%3 {
				samples = append(samples, at(g, n, f.seconds(speed.Shape{GPUs: g, Nodes: n})))
			}
		}
	}
	c := speed.Fit(samples, now)
	within(t, "unmeasured", seconds(c, 48, 12), f.seconds(speed.Shape{GPUs: 48, Nodes: 12}), 0.1)
	within(t, "measured", seconds(c, 31, 7), f.seconds(speed.Shape{GPUs: 31, Nodes: 7}), 1e-9)
}

func BenchmarkFit(b *testing.B) {
	f := truth{a: 1000, b: 10, d: 1}
	var samples []speed.Sample
	for i := range 512 {
		g := 1 + i%16
		s := at(g, 1+i%min(g, 5), f.seconds(speed.Shape{GPUs: g, Nodes: 1}))
		s.At = now.Add(-time.Duration(i) * time.Minute)
		samples = append(samples, s)
	}
	b.Run("fit", func(b *testing.B) {
		for b.Loop() {
			speed.Fit(samples, now)
		}
	})
	c := speed.Fit(samples, now)
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			hoped(c, 40, 10)
		}
	})
}
