package checkpoint

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func lines(of ...Progress) (out []Progress) {
	for i, p := range of {
		if p.Time == 0 {
			p.Time = 1e9 + float64(i)
		}
		if p.Event == "" {
			p.Event = "progress"
		}
		out = append(out, p)
	}
	return out
}

func TestMeasurement(t *testing.T) {
	for _, c := range []struct {
		name   string
		warmup int
		lines  []Progress
		spans  []Span
		of     string
		enough int // steps that are, one more being too many; -1 = none are
	}{
		{"nothing", 0, nil, nil, "unit", -1},
		{"the program tells its pace", 5, lines(Progress{Event: "hello"}, Progress{Event: "pace", Pace: 0.5, Steps: 4}, Progress{Event: "pace", Pace: 0.4, Steps: 6}),
			[]Span{{0.5, 4}, {0.4, 6}}, "step", 10},
		{"a pace is believed before steps", 0, lines(Progress{Step: 1}, Progress{Event: "pace", Pace: 0.5, Steps: 4}, Progress{Step: 9}), []Span{{0.5, 4}}, "step", 4},
		{"steps of a log", 0, lines(Progress{Step: 10}, Progress{Step: 20}, Progress{Step: 40}), []Span{{0.1, 10}, {0.05, 20}}, "step", 30},
		{"its warm-up", 15, lines(Progress{Step: 10}, Progress{Step: 20}, Progress{Step: 40}), []Span{{0.05, 20}}, "step", 20},
		{"a step named twice", 0, lines(Progress{Step: 10}, Progress{Step: 10}, Progress{Step: 20}), []Span{{0.1, 10}}, "step", 10},
		{"a step that goes back", 0, lines(Progress{Step: 10}, Progress{Step: 4}, Progress{Step: 5}), []Span{{1, 1}}, "step", 1},
		{"a clock that goes back", 0, lines(Progress{Step: 10, Time: 2e9}, Progress{Step: 20, Time: 1e9}), nil, "unit", -1},
		{"units", 5, lines(Progress{Seconds: 60}, Progress{Seconds: 58}), []Span{{60, 1}, {58, 1}}, "unit", -1},
		{"enough units", 5, lines(Progress{Seconds: 60}, Progress{Seconds: 58}, Progress{Seconds: 58}), []Span{{60, 1}, {58, 1}, {58, 1}}, "unit", 1 << 30},
		{"another run's", 0, lines(Progress{Event: "pace", Pace: 1, Steps: 9, Restarts: 1}), nil, "unit", -1},
		{"a pace of nothing", 0, lines(Progress{Event: "pace", Steps: 9}, Progress{Event: "pace", Pace: 1}), nil, "unit", -1},
	} {
		m := Measurement{Warmup: c.warmup}
		for _, line := range c.lines {
			m.Add(line)
		}
		spans, of := m.Spans()
		if of != c.of || !slices.EqualFunc(spans, c.spans, func(a, b Span) bool { return math.Abs(a.Seconds-b.Seconds) < 1e-9 && a.Steps == b.Steps }) {
			t.Errorf("%s: %v of a %s, want %v of a %s", c.name, spans, of, c.spans, c.of)
		}
		if got := m.Enough(max(1, c.enough)); got != (c.enough > 0) {
			t.Errorf("%s: %d steps enough: %v", c.name, c.enough, got)
		}
		if c.of == "step" && m.Enough(c.enough+1) {
			t.Errorf("%s: %d steps enough too", c.name, c.enough+1)
		}
	}
}

func TestMeasurementSize(t *testing.T) {
	var m Measurement
	for _, line := range lines(Progress{Event: "hello", GPUs: 8, Nodes: 2}, Progress{}) {
		m.Add(line)
	}
	if gpus, nodes := m.Size(); gpus != 8 || nodes != 2 {
		t.Errorf("%d GPUs on %d nodes", gpus, nodes)
	}
}

// Whatever a program writes, what is measured is positive and finite.
func TestMeasurementIsSane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Measurement{Warmup: rapid.IntRange(-3, 20).Draw(t, "warm-up")}
		for range rapid.IntRange(0, 20).Draw(t, "lines") {
			m.Add(Progress{
				Event: rapid.SampledFrom([]string{"pace", "progress", "hello", "finished"}).Draw(t, "event"),
				Time:  rapid.Float64Range(1, 1e10).Draw(t, "time"), Step: rapid.Int64Range(0, 100).Draw(t, "step"),
				Pace: rapid.Float64Range(0, 10).Draw(t, "pace"), Steps: rapid.Int64Range(0, 10).Draw(t, "steps"),
				Seconds: rapid.Float64Range(0, 1e6).Draw(t, "seconds"), Restarts: rapid.IntRange(0, 1).Draw(t, "restarts"),
			})
		}
		spans, _ := m.Spans()
		for _, s := range append(spans, m.Units()...) {
			if !(s.Seconds > 0) || !(s.Steps > 0) || math.IsInf(s.Seconds, 0) {
				t.Fatalf("%+v", s)
			}
		}
	})
}
