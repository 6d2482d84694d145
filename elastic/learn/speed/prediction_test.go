package speed_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// known predicts a truth, in minutes, for all shapes or for those where used returns true.
func known(f truth, used func(speed.Shape) bool) speed.Prediction {
	return func(_ string, s speed.Shape) (float64, bool) { return f.seconds(s) / 60, used(s) }
}

func always(speed.Shape) bool { return true }

// TestPredictedAnswersUntriedShapes: predictions are in the curve's own unit; measured shapes
// keep their times.
func TestPredictedAnswersUntriedShapes(t *testing.T) {
	bent := truth{a: 100, b: 2, d: 30}
	c := speed.Fit([]speed.Sample{at(1, 1, 102), at(2, 1, 52), at(4, 1, 27)}, now)
	f := c.Predicted(known(bent, always))
	within(t, "4 GPUs on two nodes", seconds(f, 4, 2), bent.seconds(speed.Shape{GPUs: 4, Nodes: 2}), 0.01)
	if _, src := f.Seconds(speed.Shape{GPUs: 4, Nodes: 2}); src != speed.Learned {
		t.Errorf("source %s", src)
	}
	if s, src := f.Seconds(speed.Shape{GPUs: 4, Nodes: 1}); s != 27 || src != speed.Measured {
		t.Errorf("measured: %v %v", s, src)
	}
	if h := hoped(f, 3, 1); h >= seconds(f, 3, 1) {
		t.Error("untried sizes get no bonus")
	}
}

// TestPredictedWhereItAnswers: for other shapes the curve answers as before.
func TestPredictedWhereItAnswers(t *testing.T) {
	c := speed.Fit([]speed.Sample{at(1, 1, 102), at(2, 1, 52), at(4, 1, 27)}, now)
	f := c.Predicted(known(truth{a: 100, d: 50}, func(s speed.Shape) bool { return s.Nodes == 2 }))
	if seconds(f, 8, 4) != seconds(c, 8, 4) || seconds(f, 3, 1) != seconds(c, 3, 1) {
		t.Error("the prediction is used where it has no answer")
	}
	if seconds(f, 8, 2) == seconds(c, 8, 2) {
		t.Error("the prediction is not used where it answers")
	}
}

// TestPredictedKeepsTheBounds: for any predictions, the speed-up of more GPUs stays within the
// curve's bounds, and no answer is extreme.
func TestPredictedKeepsTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := speed.Fit(rapid.SliceOfN(anySample, 1, 20).Draw(t, "samples"), now)
		wild := rapid.SampledFrom([]float64{0, -1, 1e-12, 1, 1e12, math.NaN(), math.Inf(1)})
		said := map[speed.Shape]float64{}
		f := c.Predicted(func(_ string, s speed.Shape) (float64, bool) {
			if _, ok := said[s]; !ok {
				said[s] = wild.Draw(t, "says")
			}
			return said[s], true
		})
		s := shapes.Draw(t, "asked")
		got, _ := f.Seconds(s)
		if !(got > 0) {
			t.Fatalf("%v: %v", s, got)
		}
		for _, m := range c.Shapes() {
			if was := seconds(c, m.GPUs, m.Nodes); was != seconds(f, m.GPUs, m.Nodes) {
				t.Fatalf("%v was measured", m)
			} else if m.GPUs < s.GPUs && was/got > 1.25*float64(s.GPUs)/float64(m.GPUs)*(1+1e-9) {
				t.Fatalf("%v is %v times as fast as %v", s, was/got, m)
			}
		}
	})
}

// TestPredictedByKind: predictions are made for each node type, and Idle keeps them.
func TestPredictedByKind(t *testing.T) {
	var all []speed.Sample
	for kind, times := range map[string]float64{"a100": 1, "t4": 3} {
		for _, g := range []int{1, 2} {
			s := at(g, 1, times*100/float64(g))
			s.Kind = kind
			all = append(all, s)
		}
	}
	f := speed.Fit(all, now).Predicted(func(kind string, s speed.Shape) (float64, bool) {
		return map[string]float64{"a100": 100, "t4": 300}[kind] / math.Sqrt(float64(s.GPUs)), true
	})
	for _, c := range []*speed.Curve{f, f.On("a100").Idle(speed.Shape{GPUs: 1, Nodes: 1}, 0.01)} {
		a, b := seconds(c.On("a100"), 9, 1), seconds(c.On("t4"), 9, 1)
		if math.Abs(b/a-3) > 0.01 {
			t.Errorf("nine GPUs take %v and %v", a, b)
		}
		if _, src := c.On("t4").Seconds(speed.Shape{GPUs: 9, Nodes: 1}); src != speed.Learned {
			t.Errorf("source %v", src)
		}
	}
	if c := (*speed.Curve)(nil); c.Predicted(nil) != nil {
		t.Error("nothing is known, and something is predicted")
	}
}
