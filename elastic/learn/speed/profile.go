package speed

import (
	"math"
	"time"
)

// Profile is the result of measuring a program at several sizes, as 'sluice profile --json'
// prints it and sluice-plot draws it.
type Profile struct {
	Version int     `json:"version"`
	Script  string  `json:"script"`
	Model   string  `json:"model,omitempty"`
	Of      string  `json:"of"` // "step" or "epoch": the unit of Seconds
	Points  []Point `json:"points"`
	// Notes are what a reader of the figures has to know, such as that the GPU time was
	// emulated.
	Notes []string `json:"notes,omitempty"`
	// Forms, if there are any, are drawn instead of the curve through the points: the
	// prediction of each for sizes on the fewest nodes (see elastic/learn/predict).
	Forms []Line `json:"forms,omitempty"`
}

// Line is the predictions of one form.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"` // only GPUs and Seconds count
	Used   bool    `json:"used,omitempty"`
}

// ProfileVersion is the version of Profile. Fields are only added; a change of meaning raises
// it.
const ProfileVersion = 1

// Point is one size of a Profile.
type Point struct {
	GPUs    int     `json:"gpus"`
	Nodes   int     `json:"nodes,omitempty"`
	Job     int64   `json:"job_id,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // seconds per step or unit; 0 = not measured
	// Spread is the standard deviation of the measurements, in seconds; 0 if there is only one.
	Spread  float64 `json:"spread_seconds,omitempty"`
	Steps   float64 `json:"steps,omitempty"` // number of steps measured
	Speedup float64 `json:"speedup,omitempty"`
	// Efficiency is the speed-up divided by the factor in GPUs: 1 = perfect scaling.
	Efficiency float64 `json:"efficiency,omitempty"`
	Error      string  `json:"error,omitempty"` // why it was not measured, and what to type next
}

// Measure sets the time of a step from intervals of a run (seconds, and steps in them): the
// mean of those that agree, and their standard deviation.
// seconds and steps MUST be equally long: seconds are those of one step, steps how many were timed.
// The point stays as it is if no interval is usable.
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

// Compare sets speed-ups and efficiencies relative to the smallest size measured, whose
// speed-up is its number of GPUs.
func (p *Profile) Compare() {
	base := p.smallest()
	for i := range p.Points {
		if pt := &p.Points[i]; base != nil && pt.Seconds > 0 {
			pt.Speedup = float64(base.GPUs) * base.Seconds / pt.Seconds
			pt.Efficiency = pt.Speedup / float64(pt.GPUs)
		}
	}
}

// smallest returns the smallest size measured; nil if there is none.
func (p *Profile) smallest() (base *Point) {
	for i := range p.Points {
		if pt := &p.Points[i]; pt.Seconds > 0 && (base == nil || pt.GPUs < base.GPUs) {
			base = pt
		}
	}
	return base
}

// Curve returns the curve through the points, as sluice's decisions would use it; nil without
// points.
func (p *Profile) Curve() *Curve {
	var samples []Sample
	for _, pt := range p.Points {
		samples = append(samples, Sample{Shape: Shape{GPUs: pt.GPUs, Nodes: max(1, pt.Nodes)}, Seconds: pt.Seconds, Units: 1})
	}
	return Fit(samples, time.Time{})
}

// Ideal returns the seconds on a number of GPUs if the smallest size measured scaled perfectly;
// 0 if none was measured.
func (p *Profile) Ideal(gpus int) float64 {
	base := p.smallest()
	if base == nil || gpus < 1 {
		return 0
	}
	return base.Seconds * float64(base.GPUs) / float64(gpus)
}

// NodesAt returns the number of nodes for which a number of GPUs is drawn: that of the smallest
// measured size that is not smaller, else that of the largest; 1 if none was measured.
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
