package speed

import (
	"math"
	"time"
)

// Profile is what came of measuring a program at several sizes, as 'sluice profile
// --json' prints it and sluice-plot draws it.
type Profile struct {
	Version int     `json:"version"`
	Script  string  `json:"script"`
	Model   string  `json:"model,omitempty"`
	Of      string  `json:"of"` // what Seconds are of: "step", "epoch"
	Points  []Point `json:"points"`
	// Notes are what whoever reads the figures must know, such as that the time of
	// GPUs was emulated.
	Notes []string `json:"notes,omitempty"`
	// Forms are drawn instead of the curve through the points, where there are any: what
	// each says of sizes on the fewest nodes (see elastic/learn/predict).
	Forms []Line `json:"forms,omitempty"`
}

// Line is what one form says.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"` // only GPUs and Seconds count
	Used   bool    `json:"used,omitempty"`
}

// ProfileVersion is the version of Profile. Fields are only ever added; a change
// of meaning raises it.
const ProfileVersion = 1

// Point is one size of a Profile.
type Point struct {
	GPUs    int     `json:"gpus"`
	Nodes   int     `json:"nodes,omitempty"`
	Job     int64   `json:"job_id,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // a step or unit; 0 = not measured
	// Spread is the standard deviation of the measurements, in seconds; 0 with one.
	Spread  float64 `json:"spread_seconds,omitempty"`
	Steps   float64 `json:"steps,omitempty"` // measured in all
	Speedup float64 `json:"speedup,omitempty"`
	// Efficiency is the speed-up over what as many times the GPUs should give.
	Efficiency float64 `json:"efficiency,omitempty"`
	Error      string  `json:"error,omitempty"` // why not measured, and what to type next
}

// Measure fills in the time of a step from stretches of a run: the mean of those that
// agree, and how far they scatter.
func (p *Point) Measure(seconds, steps []float64) {
	shape := Shape{GPUs: p.GPUs, Nodes: max(1, p.Nodes)}.possible()
	var samples []Sample
	var total, squares float64
	for i, s := range seconds {
		samples = append(samples, Sample{Shape: shape, Seconds: s, Units: steps[i]})
	}
	c := Fit(samples, time.Time{})
	if c == nil {
		return
	}
	p.Seconds, _ = c.Seconds(shape)
	for i, s := range seconds {
		total += steps[i]
		squares += steps[i] * (s - p.Seconds) * (s - p.Seconds)
	}
	p.Steps = total
	if len(seconds) > 1 && total > 0 {
		p.Spread = math.Sqrt(squares / total)
	}
}

// Compare fills in speed-ups and efficiencies, over the smallest size measured, which
// is taken to be worth its number of GPUs.
func (p *Profile) Compare() {
	base := p.smallest()
	for i := range p.Points {
		if pt := &p.Points[i]; base != nil && pt.Seconds > 0 {
			pt.Speedup = float64(base.GPUs) * base.Seconds / pt.Seconds
			pt.Efficiency = pt.Speedup / float64(pt.GPUs)
		}
	}
}

// smallest is the smallest size measured; nil when none was.
func (p *Profile) smallest() (base *Point) {
	for i := range p.Points {
		if pt := &p.Points[i]; pt.Seconds > 0 && (base == nil || pt.GPUs < base.GPUs) {
			base = pt
		}
	}
	return base
}

// Curve is the curve through the points that sluice would decide by; nil without
// any.
func (p *Profile) Curve() *Curve {
	var samples []Sample
	for _, pt := range p.Points {
		samples = append(samples, Sample{Shape: Shape{GPUs: pt.GPUs, Nodes: max(1, pt.Nodes)}, Seconds: pt.Seconds, Units: 1})
	}
	return Fit(samples, time.Time{})
}

// Ideal is the time at a number of GPUs if the smallest size measured scaled
// perfectly; 0 when none was measured.
func (p *Profile) Ideal(gpus int) float64 {
	base := p.smallest()
	if base == nil || gpus < 1 {
		return 0
	}
	return base.Seconds * float64(base.GPUs) / float64(gpus)
}

// NodesAt is on how many nodes a number of GPUs is drawn: those of the smallest size
// measured that is not smaller, else those of the largest; 1 when none was measured.
func (p *Profile) NodesAt(gpus int) int {
	var at *Point
	for i := range p.Points {
		pt := &p.Points[i]
		switch {
		case pt.Seconds <= 0:
		case at == nil, at.GPUs < gpus && pt.GPUs > at.GPUs, pt.GPUs >= gpus && pt.GPUs < at.GPUs:
			at = pt
		}
	}
	if at == nil {
		return 1
	}
	return max(1, min(at.Nodes, gpus))
}
