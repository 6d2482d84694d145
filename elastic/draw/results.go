package draw

import (
	"html/template"
	"math"
	"strings"
)

// Curve is a learning curve, in parts that differ in class. A part begins where the one before ends.
type Curve struct {
	Class string // of the whole curve
	Title string
	Parts []Line
}

// Line is a row of points. Both have the same length, and finite numbers.
type Line struct {
	Class string
	X, Y  []float64
}

// scale is an axis of numbers from low to high, with its marks.
type scale struct {
	low, high float64
	ticks     []Tick
}

// span returns an axis that has all numbers, and some room on both sides.
func span(low, high float64) scale {
	if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		low, high = 0, 1
	}
	wide := high - low
	if wide <= math.Abs(high)*1e-9 || math.IsInf(wide, 0) { // one value
		wide = math.Max(math.Abs(high)/2, 1e-9)
		low, high = high-wide/2, high+wide/2
	}
	s := scale{low: low - wide*.04, high: high + wide*.04}
	const marks = 6 // about
	step := Nice((s.high - s.low) / marks)
	for v := math.Ceil(s.low/step) * step; v <= s.high && len(s.ticks) <= 2*marks; v += step {
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		s.ticks = append(s.ticks, Tick{v, Figure(v)})
	}
	return s
}

// part is where a number is on the axis, 0 to 1. One that lies beyond an end is a tenth beyond it at most, so
// that no number gives a coordinate that cannot be written.
func (s scale) part(v float64) float64 {
	return math.Max(-.1, math.Min(1.1, (v-s.low)/(s.high-s.low)))
}

// extent is the least and the largest number.
func extent(all ...[]float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, list := range all {
		for _, v := range list {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	return low, high
}

// valueAxis draws the marks of a vertical axis.
func (d *Pen) valueAxis(p Panel, s scale) {
	for _, t := range s.ticks {
		y := p.Top + p.Height*(1-s.part(t.At))
		d.Line(p.Left, y, p.Left+p.Width, y, "grid")
		d.Text(p.Left-6, y+3.5, "end", "tick", t.Text)
	}
}

// goal draws the line of a goal.
func (d *Pen) goal(p Panel, s scale, goal *float64) {
	if goal == nil {
		return
	}
	if at := s.part(*goal); at >= 0 && at <= 1 {
		y := p.Top + p.Height*(1-at)
		d.Line(p.Left, y, p.Left+p.Width, y, "goal")
		d.Text(p.Left+p.Width, y-4, "end", "tick", "goal")
	}
}

// Curves draws learning curves, the later ones above the earlier ones. Parts have the classes that they are
// given; label is the drawing in words, and the axes have names.
func Curves(all []Curve, goal *float64, label, across, up string) template.HTML {
	const width, height = 1080.0, 320.0
	p := Panel{60, 24, width - 60 - 14, height - 24 - 40}
	var xs, ys [][]float64
	for _, c := range all {
		for _, l := range c.Parts {
			xs, ys = append(xs, l.X), append(ys, l.Y)
		}
	}
	if len(xs) == 0 {
		return ""
	}
	if goal != nil {
		ys = append(ys, []float64{*goal})
	}
	_, most := extent(xs...)
	x, y := scale{high: math.Max(most, 1e-9)}, span(extent(ys...))
	d := New(width, height, "chart curves", label)
	step := Nice(x.high / 10)
	for v := 0.0; v <= x.high*(1+1e-9); v += step {
		at := p.Left + p.Width*x.part(v)
		d.Line(at, p.Top, at, p.Top+p.Height, "grid")
		d.Text(at, p.Top+p.Height+15, "middle", "tick", Figure(v))
	}
	d.valueAxis(p, y)
	d.Text(p.Left, 13, "start", "axis", up)
	d.Text(p.Left+p.Width/2, height-5, "middle", "axis", across)
	d.goal(p, y, goal)
	for _, c := range all {
		d.Printf(`<g class="%s"><title>%s</title>`, c.Class, Escaped(c.Title))
		for _, l := range c.Parts {
			d.Path(l.Class, p.line(l, x, y), "")
		}
		d.Printf(`</g>`)
	}
	return d.Done()
}

// line is the path of a row of points; a single one is a dot, by its round end.
func (p Panel) line(l Line, x, y scale) string {
	var b strings.Builder
	to := "M"
	for i := range l.X {
		b.WriteString(to + p.point(x.part(l.X[i]), y.part(l.Y[i])))
		to = "L"
	}
	if len(l.X) == 1 {
		b.WriteString("h0")
	}
	return b.String()
}

// point is a place in the Panel, to a tenth: thousands of them are in one drawing.
func (p Panel) point(x, y float64) string {
	return Num(math.Round(10*(p.Left+p.Width*x))/10) + " " + Num(math.Round(10*(p.Top+p.Height*(1-y)))/10)
}

// Stair is a value from a time on, in seconds.
type Stair struct{ At, Value float64 }

// Stairs draws a value over time: it stays until the next one. end is the end of the time axis. With whole
// the axis begins at 0 and counts.
func Stairs(all []Stair, end float64, ticks []Tick, goal *float64, whole bool, label, up string) template.HTML {
	const width, height = 1080.0, 170.0
	if len(all) == 0 || !(end > 0) {
		return ""
	}
	p := Panel{60, 24, width - 60 - 14, height - 24 - 24}
	var values []float64
	for _, s := range all {
		values = append(values, s.Value)
	}
	if goal != nil {
		values = append(values, *goal)
	}
	low, high := extent(values)
	y := span(low, high)
	if whole {
		y = scale{high: math.Max(1, high) * 1.05, ticks: CountTicks(math.Max(1, high), 4)}
	}
	d := New(width, height, "chart stairs", label)
	d.TimeAxis(p, ticks, end, true)
	d.valueAxis(p, y)
	d.Text(p.Left, 13, "start", "axis", up)
	d.goal(p, y, goal)
	var b strings.Builder
	for i, s := range all {
		at := math.Min(1, math.Max(0, s.At/end))
		if i == 0 {
			b.WriteString("M" + p.point(at, y.part(s.Value)))
			continue
		}
		b.WriteString("H" + Num(p.Left+p.Width*at) + "V" + Num(p.Top+p.Height*(1-y.part(s.Value))))
	}
	b.WriteString("H" + Num(p.Left+p.Width))
	d.Path("stair", b.String(), "")
	return d.Done()
}

// Dots draws points of several classes, the later ones above the earlier ones. across and up name the axes.
// If names is not nil, X counts its words; with log X is shown by its logarithm, and MUST be above 0.
func Dots(all []Line, names []string, log bool, label, across, up string) template.HTML {
	const width, height = 340.0, 210.0
	p := Panel{52, 22, width - 52 - 12, height - 22 - 38}
	at := func(v float64) float64 { return v }
	if log {
		at = math.Log10
	}
	xlow, xhigh, ylow, yhigh := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range all {
		for i := range l.X {
			v := at(l.X[i])
			xlow, xhigh, ylow, yhigh = math.Min(xlow, v), math.Max(xhigh, v), math.Min(ylow, l.Y[i]), math.Max(yhigh, l.Y[i])
		}
	}
	if math.IsInf(xlow, 0) {
		return ""
	}
	x, y := span(xlow, xhigh), span(ylow, yhigh)
	switch {
	case names != nil:
		x = scale{low: -.5, high: float64(len(names)) - .5}
		for i, n := range names {
			if len(names) <= 8 || i%((len(names)+7)/8) == 0 {
				x.ticks = append(x.ticks, Tick{float64(i), Shortened(Printable(n), max(4, 40/min(8, len(names))))})
			}
		}
	case log:
		x.ticks = nil
		for e := math.Ceil(x.low); e <= x.high; e += math.Max(1, math.Ceil((x.high-x.low)/5)) {
			x.ticks = append(x.ticks, Tick{e, Figure(math.Pow(10, e))})
		}
	}
	d := New(width, height, "chart dots", label)
	for _, t := range x.ticks {
		v := p.Left + p.Width*x.part(t.At)
		d.Line(v, p.Top, v, p.Top+p.Height, "grid")
		d.Text(v, p.Top+p.Height+14, "middle", "tick", t.Text)
	}
	d.valueAxis(p, y)
	d.Text(p.Left, 12, "start", "axis", up)
	d.Text(p.Left+p.Width/2, height-5, "middle", "axis", across)
	for _, l := range all {
		var b strings.Builder
		for i := range l.X {
			b.WriteString("M" + p.point(x.part(at(l.X[i])), y.part(l.Y[i])) + "h0")
		}
		d.Path(l.Class, b.String(), "")
	}
	return d.Done()
}
