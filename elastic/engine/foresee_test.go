package engine

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// stepped is a truth that the curve does not foresee: crossing nodes makes everything
// slower by a quarter, however many GPUs there are.
func stepped(s speed.Shape) float64 {
	t := 100/float64(s.GPUs) + 1
	if s.Nodes > 1 {
		t *= 1.25
	}
	return t
}

var foreseeNoon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// trained is an engine with one job of a model, timed in the shapes.
func trained(t *testing.T, shapes ...speed.Shape) (*Engine, JobRecord) {
	t.Helper()
	e := New(Config{Samples: new(Memory)})
	rec := JobRecord{Token: "t", ID: 1, UID: 1000}
	rec.Tag.Spec.Model = "m"
	e.remember(&jobState{rec: rec})
	for _, s := range shapes {
		for range 3 {
			e.keep(e.modelOf(rec), speed.Sample{Shape: s, Seconds: stepped(s), Units: 1, At: foreseeNoon})
		}
	}
	e.curveOf(rec, foreseeNoon)
	return e, rec
}

var seenShapes = []speed.Shape{{GPUs: 1, Nodes: 1}, {GPUs: 2, Nodes: 1}, {GPUs: 3, Nodes: 1}, {GPUs: 4, Nodes: 1}, {GPUs: 6, Nodes: 1}, {GPUs: 8, Nodes: 1},
	{GPUs: 2, Nodes: 2}, {GPUs: 4, Nodes: 2}, {GPUs: 6, Nodes: 2}, {GPUs: 8, Nodes: 2}, {GPUs: 16, Nodes: 2}, {GPUs: 12, Nodes: 2}}

// TestForeseeAnswersWhatTheCurveCannot: within what was timed, shapes nobody tried are
// answered by whoever is better, and what was measured stands.
func TestForeseeAnswersWhatTheCurveCannot(t *testing.T) {
	e, rec := trained(t, seenShapes...)
	before := e.curveOf(rec, foreseeNoon)
	e.foresee(foreseeNoon)
	after := e.curveOf(rec, foreseeNoon)
	f := e.foreseen[e.telling(rec)]
	if f == nil || f.choice == nil || f.choice.Within.Best == 0 {
		t.Fatalf("nobody is better than the curve: %+v", f)
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

// TestForeseeNeedsShapes: of few shapes nothing is learned, however many samples.
func TestForeseeNeedsShapes(t *testing.T) {
	e, rec := trained(t, seenShapes[:enoughShapes-1]...)
	e.foresee(foreseeNoon)
	if f := e.foreseen[e.telling(rec)]; f == nil || f.choice != nil {
		t.Errorf("of %d shapes: %+v", enoughShapes-1, f)
	}
}

// cheaply leaves out the form that takes longest to learn.
func cheaply(t *testing.T) {
	all := foreseers
	foreseers = foreseers[:2]
	t.Cleanup(func() { foreseers = all })
}

// TestForeseeLearnsOnce: not again of the same samples, nor of more of the same; again of
// a new shape, of twice as many samples, and of new ones much later.
func TestForeseeLearnsOnce(t *testing.T) {
	cheaply(t)
	e, rec := trained(t, seenShapes[:enoughShapes]...)
	key, now := e.telling(rec), foreseeNoon
	choice := func() any {
		now = now.Add(time.Second)
		e.foresee(now)
		return e.foreseen[key].choice
	}
	more := func(s speed.Shape, count int) {
		for range count {
			e.keep(e.modelOf(rec), speed.Sample{Shape: s, Seconds: stepped(s), Units: 1, At: now})
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

// TestForeseeOneModelACycle: and the next in the next.
func TestForeseeOneModelACycle(t *testing.T) {
	cheaply(t)
	e, _ := trained(t, seenShapes[:enoughShapes]...)
	other := JobRecord{Token: "u", ID: 2, UID: 1000}
	other.Tag.Spec.Model = "n"
	e.remember(&jobState{rec: other})
	for _, s := range seenShapes[:enoughShapes] {
		e.keep(e.paceOf(other), speed.Sample{Shape: s, Seconds: stepped(s), Units: 1, At: foreseeNoon})
	}
	e.curveOf(other, foreseeNoon)
	count := func() (n int) {
		for _, f := range e.foreseen {
			if f.choice != nil {
				n++
			}
		}
		return n
	}
	for want := 1; want <= 2; want++ {
		if e.foresee(foreseeNoon); count() != want {
			t.Errorf("after %d cycles %d models are learned", want, count())
		}
	}
	// Steps alone say how the time changes with the shape, and no seconds.
	if c := e.curveOf(other, foreseeNoon); c.Samples() != 0 {
		t.Errorf("%d samples", c.Samples())
	}
}

// TestObservations: samples of one configuration are one observation, as heavy as they are
// many; what says nothing is left out, and what is not said of the split is even.
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

// TestForesightLeavesMemory with the samples it was made of.
func TestForesightLeavesMemory(t *testing.T) {
	cheaply(t)
	e, rec := trained(t, seenShapes[:enoughShapes]...)
	e.foresee(foreseeNoon)
	for _, js := range e.jobs {
		js.rec.Ended = foreseeNoon
	}
	e.forgetOld(foreseeNoon)
	if len(e.foreseen)+len(e.series)+len(e.samples) != 0 {
		t.Errorf("%v %v of job %d are left", e.foreseen, e.series, elastic.JobID(rec.ID))
	}
}
