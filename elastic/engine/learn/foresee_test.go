package learn

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// stepped is a speed that the curve cannot predict: a split over several nodes is slower by a quarter
// for any number of GPUs.
func stepped(s speed.Shape) float64 {
	t := 100/float64(s.GPUs) + 1
	if s.Nodes > 1 {
		t *= 1.25
	}
	return t
}

var foreseeNoon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// empty is a store without samples.
type empty struct{}

func (empty) Samples(context.Context, string, int) ([]speed.Sample, error) { return nil, nil }

var (
	m = Keys{Units: "user:7/model:m/epoch", Steps: "user:7/model:m/pace"}
	n = Keys{Units: "user:7/model:n/epoch", Steps: "user:7/model:n/pace"}
)

// trained returns a memory of one model, timed in the shapes.
func trained(shapes ...speed.Shape) *Memory {
	e := New(empty{})
	for _, s := range shapes {
		for range 3 {
			e.Keep(m.Units, speed.Sample{Shape: s, Seconds: stepped(s), Units: 1, At: foreseeNoon})
		}
	}
	e.Fit(m, foreseeNoon)
	return e
}

// foresee does what a cycle does for jobs of these models.
func (m *Memory) foresee(now time.Time, jobs ...Keys) { m.Foresee(slices.Values(jobs), now) }

var seenShapes = []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}, {GPUs: 3, Nodes: 1}, {GPUs: 4, Nodes: 1}, {GPUs: 6, Nodes: 1}, {GPUs: 8, Nodes: 1},
	{GPUs: 2, Nodes: 2}, {GPUs: 4, Nodes: 2}, {GPUs: 6, Nodes: 2}, {GPUs: 8, Nodes: 2}, {GPUs: 16, Nodes: 2}, {GPUs: 12, Nodes: 2}}

// TestForeseeAnswersWhatTheCurveCannot: within the timed range, shapes that were not tried are
// answered by the better predictor, and measured shapes by their measurement.
func TestForeseeAnswersWhatTheCurveCannot(t *testing.T) {
	e := trained(seenShapes...)
	before := e.Fit(m, foreseeNoon)
	e.foresee(foreseeNoon, m)
	after := e.Fit(m, foreseeNoon)
	f := e.foreseen[e.telling(m)]
	if f == nil || f.choice == nil || f.choice.Within.Best == 0 {
		t.Fatalf("no predictor is better than the curve: %+v", f)
	}
	for _, s := range []speed.Shape{{GPUs: 5, Nodes: 1}, {GPUs: 10, Nodes: 2}} {
		was, _ := before.Seconds(s)
		is, src := after.Seconds(s)
		want := stepped(s)
		if src != speed.Learned || math.Abs(is-want) > math.Abs(was-want) {
			t.Errorf("%v takes %v; foreseen %v (%s), by the curve %v", s, want, is, src, was)
		}
	}
	for _, s := range seenShapes {
		if got, src := after.Seconds(s); src != speed.Measured || math.Abs(got/stepped(s)-1) > 1e-9 {
			t.Errorf("%v was measured: %v %v", s, got, src)
		}
	}
}

// TestForeseeNeedsShapes: with few shapes no predictor is chosen, however many samples there are.
func TestForeseeNeedsShapes(t *testing.T) {
	e := trained(seenShapes[:enoughShapes-1]...)
	e.foresee(foreseeNoon, m)
	if f := e.foreseen[e.telling(m)]; f == nil || f.choice != nil {
		t.Errorf("of %d shapes: %+v", enoughShapes-1, f)
	}
}

// cheaply leaves out the form that takes longest to train.
func cheaply(t *testing.T) {
	all := foreseers
	foreseers = foreseers[:2]
	t.Cleanup(func() { foreseers = all })
}

// TestForeseeLearnsOnce: the choice is not repeated for the same samples or a few more of them. It is
// repeated for a new shape, for twice as many samples, and for new samples much later.
func TestForeseeLearnsOnce(t *testing.T) {
	cheaply(t)
	e := trained(seenShapes[:enoughShapes]...)
	key, now := e.telling(m), foreseeNoon
	choice := func() any {
		now = now.Add(time.Second)
		e.foresee(now, m)
		return e.foreseen[key].choice
	}
	more := func(s speed.Shape, count int) {
		for range count {
			e.Keep(m.Units, speed.Sample{Shape: s, Seconds: stepped(s), Units: 1, At: now})
		}
	}
	first := choice()
	if choice() != first {
		t.Error("learned again of the same samples")
	}
	if more(seenShapes[0], 5); choice() != first {
		t.Error("learned again of a few more of the same")
	}
	if more(seenShapes[enoughShapes], 1); choice() == first {
		t.Error("not learned of a new shape")
	}
	second := choice()
	if more(seenShapes[0], 30); choice() == second {
		t.Error("not learned of twice as many samples")
	}
	third := choice()
	now = now.Add(stale)
	if choice() != third {
		t.Error("learned again of nothing new")
	}
	if more(seenShapes[0], 1); choice() == third {
		t.Error("not learned of new samples much later")
	}
}

// TestForeseeOneModelACycle: each cycle chooses for one model.
func TestForeseeOneModelACycle(t *testing.T) {
	cheaply(t)
	e := trained(seenShapes[:enoughShapes]...)
	for _, s := range seenShapes[:enoughShapes] {
		e.Keep(n.Steps, speed.Sample{Shape: s, Seconds: stepped(s), Units: 1, At: foreseeNoon})
	}
	e.Fit(n, foreseeNoon)
	count := func() (count int) {
		for _, f := range e.foreseen {
			if f.choice != nil {
				count++
			}
		}
		return count
	}
	for want := 1; want <= 2; want++ {
		if e.foresee(foreseeNoon, m, n); count() != want {
			t.Errorf("after %d cycles %d models are learned", want, count())
		}
	}
	// With step times alone the curve has a form and no seconds.
	if c := e.Fit(n, foreseeNoon); c.Samples() != 0 {
		t.Errorf("%d samples", c.Samples())
	}
}

// TestObservations: samples of one configuration are one observation, weighted by their number.
// Invalid samples are left out, and a missing split counts as even.
func TestObservations(t *testing.T) {
	sample := func(g, n int, seconds float64, kind, split string, beside int) speed.Sample {
		return speed.Sample{Shape: speed.Shape{GPUs: g, Nodes: n}, Seconds: seconds, Units: 1, Kind: kind, Split: split, Beside: beside}
	}
	got := observationsOf([]speed.Sample{
		sample(6, 2, 3, "t4", "4,2", 1), sample(6, 2, 9, "t4", "4,2", 1), sample(6, 2, 4, "t4", "4,2", 1),
		sample(6, 2, 5, "t4", "", 0), sample(6, 2, 5, "t4", "nonsense", 0), sample(6, 2, 5, "t4", "5,5", 0),
		sample(0, 0, 5, "", "", 0), sample(2, 3, 5, "", "", 0), sample(1, 1, math.NaN(), "", "", 0),
	})
	if len(got) != 2 || got[0].Weight != 3 || got[0].Seconds != 4 || got[0].Split[0] != 4 || got[0].Beside != 1 || got[1].Split[0] != 3 {
		t.Errorf("%+v", got)
	}
	var many []speed.Sample
	for g := range 3 * mostObservations {
		many = append(many, sample(g+1, 1, 1, "", "", 0), sample(200, 1, 1, "", "", 0))
	}
	if got := observationsOf(many); len(got) != mostObservations || got[0].GPUs() != 200 {
		t.Errorf("%d observations", len(got))
	}
}

// TestForesightLeavesMemory: Forget removes the choice together with its samples.
func TestForesightLeavesMemory(t *testing.T) {
	cheaply(t)
	e := trained(seenShapes[:enoughShapes]...)
	e.foresee(foreseeNoon, m)
	e.Fit(m, foreseeNoon)
	e.Forget(map[string]bool{"user:7/model:m": true})
	if held := e.Held(); held != (Held{Samples: 2, Curves: 1, Series: 1, Foresights: 1}) {
		t.Errorf("of a model that is still learnt there is %+v", held)
	}
	e.Forget(map[string]bool{"user:7/model:n": true})
	if held := e.Held(); held != (Held{}) {
		t.Errorf("%+v of a model without live jobs is left", held)
	}
}
