package checkpoint

// Span is a part of a run whose speed was measured.
type Span struct {
	Seconds float64 // seconds per step, or per unit of work, averaged over the span
	Steps   float64 // number of steps, or units, in the average
}

// The unit of a Measurement that is not in steps.
const perUnit = "unit"

// Measurement derives a run's speed from its lines of progress. The program's own step
// times are used first; without them the time between two lines that name a step; last
// the times of whole units.
type Measurement struct {
	// Restarts is the run's; lines of other runs are ignored.
	Restarts int
	// Warmup is how many steps at the start do not count. Programs that report "pace"
	// leave them out themselves.
	Warmup int

	pace, step, unit []Span
	last             Progress // the last line with a step after the warm-up
	gpus, nodes      int
}

// Add adds a line.
func (m *Measurement) Add(p Progress) {
	if p.Restarts != m.Restarts {
		return
	}
	if p.GPUs > 0 {
		m.gpus, m.nodes = p.GPUs, max(m.nodes, p.Nodes)
	}
	switch p.Event {
	case "pace":
		if p.Pace > 0 && p.Steps > 0 {
			m.pace = append(m.pace, Span{p.Pace, float64(p.Steps)})
		}
	case "progress":
		m.progress(p)
	}
}

func (m *Measurement) progress(p Progress) {
	if p.Seconds > 0 {
		m.unit = append(m.unit, Span{p.Seconds, 1})
	}
	if p.Step < int64(max(1, m.Warmup)) {
		return
	}
	steps := float64(p.Step - m.last.Step)
	if m.last.Step > 0 && steps > 0 && p.Time > m.last.Time {
		m.step = append(m.step, Span{(p.Time - m.last.Time) / steps, steps})
	}
	m.last = p
}

// Spans returns the most precise spans there are, and "step" or "unit"; none if nothing
// was measured.
func (m *Measurement) Spans() (spans []Span, of string) {
	switch {
	case len(m.pace) > 0:
		return m.pace, "step"
	case len(m.step) > 0:
		return m.step, "step"
	}
	return m.unit, perUnit
}

// unitsEnough is how many whole units are enough for a program that reports no steps.
const unitsEnough = 3

// Enough reports whether this many steps were measured.
func (m *Measurement) Enough(steps int) bool {
	spans, of := m.Spans()
	if of == perUnit {
		return len(spans) >= unitsEnough
	}
	sum := 0.0
	for _, s := range spans {
		sum += s.Steps
	}
	return sum >= float64(steps)
}

// Units returns the spans of whole units of work.
func (m *Measurement) Units() []Span { return m.unit }

// Size is the number of GPUs that the program reported; 0 if it did not.
func (m *Measurement) Size() (gpus, nodes int) { return m.gpus, m.nodes }
