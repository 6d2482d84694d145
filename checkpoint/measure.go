package checkpoint

// Span is a stretch of a run whose speed was seen.
type Span struct {
	Seconds float64 // a step, or a unit of work, on the average of the stretch
	Steps   float64 // steps, or units, it averages over
}

// What a Measurement counts in when it is not steps.
const perUnit = "unit"

// Measurement gathers from a run's lines of progress how fast it works. What the
// program says about its steps is believed first; without that the time between two
// lines that name a step counts; last of all what lines say of whole units.
type Measurement struct {
	// Restarts is the run's; lines of others are passed over.
	Restarts int
	// Warmup is how many steps at its start do not count. Programs that report
	// their pace leave them out themselves.
	Warmup int

	pace, step, unit []Span
	last             Progress // the last line with a step beyond the warm-up
	gpus, nodes      int
}

// Add takes a line.
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

// Spans returns the best there is, and "step" or "unit" for what it is about; none
// when nothing was measured.
func (m *Measurement) Spans() (spans []Span, of string) {
	switch {
	case len(m.pace) > 0:
		return m.pace, "step"
	case len(m.step) > 0:
		return m.step, "step"
	}
	return m.unit, perUnit
}

// unitsEnough is how many whole units are enough of a program that says nothing of
// steps.
const unitsEnough = 3

// Enough reports whether so many steps were measured.
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

// Units returns what the lines said of whole units of work.
func (m *Measurement) Units() []Span { return m.unit }

// Size is what the program said it ran on; 0 when it did not.
func (m *Measurement) Size() (gpus, nodes int) { return m.gpus, m.nodes }
