package draw

import (
	"html/template"
	"math"
	"strings"
)

// Point is a speed at a number of GPUs.
type Point struct {
	GPUs     float64
	Speed    float64 // units of work a second, or relative to 1 GPU
	Measured bool    // else it is expected
	Now      bool    // the present size
	Title    string  // in words
}

// Speeds draws speed against GPUs: a line through the expected ones, a dot for each measured one, a
// ring around the present size. label is the drawing in words; axis names the vertical axis.
func Speeds(points []Point, label, axis string) template.HTML {
	const width, height = 460.0, 230.0
	p := Panel{52, 24, width - 52 - 14, height - 24 - 38}
	mostGPUs, most := 1.0, 0.0
	for _, q := range points {
		mostGPUs, most = math.Max(mostGPUs, q.GPUs), math.Max(most, q.Speed)
	}
	if most <= 0 || math.IsInf(most, 0) || math.IsNaN(most) {
		return ""
	}
	x := func(g float64) float64 { return p.Left + p.Width*g/mostGPUs }
	y := func(s float64) float64 { return p.Top + p.Height*(1-s/most/1.05) }
	d := New(width, height, "chart curve-of-speed", label)
	for _, t := range CountTicks(mostGPUs, 8) {
		d.Line(x(t.At), p.Top, x(t.At), p.Top+p.Height, "grid")
		d.Text(x(t.At), p.Top+p.Height+15, "middle", "tick", t.Text)
	}
	step := Nice(most / 4)
	for s := 0.0; s <= most*1.05; s += step {
		d.Line(p.Left, y(s), p.Left+p.Width, y(s), "grid")
		d.Text(p.Left-6, y(s)+3.5, "end", "tick", Figure(s))
	}
	d.Text(p.Left, 13, "start", "axis", axis)
	d.Text(p.Left+p.Width/2, height-4, "middle", "axis", "GPUs")
	var line strings.Builder
	for i, q := range points {
		line.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + Num(x(q.GPUs)) + " " + Num(y(q.Speed)))
	}
	d.Path("curve", line.String(), "")
	for _, q := range points {
		class := "dot expected"
		if q.Measured {
			class = "dot measured"
		}
		if q.Now {
			d.Printf(`<circle class="ring" cx="%s" cy="%s" r="8"/>`, Num(x(q.GPUs)), Num(y(q.Speed)))
		}
		d.Printf(`<circle class="%s" cx="%s" cy="%s" r="4"><title>%s</title></circle>`, class, Num(x(q.GPUs)), Num(y(q.Speed)), Escaped(q.Title))
	}
	return d.Done()
}

// Series draws levels over time as areas, the later ones above the earlier ones.
type Series struct {
	Class  string
	Levels []float64 // evenly spaced, each 0 to Most
}

// Levels draws series over a time range in seconds; at is marked, unless it is negative.
func Levels(all []Series, most float64, ticks []Tick, end, at float64, label, axis string) template.HTML {
	const width, height = 1080.0, 150.0
	p := Panel{46, 22, width - 46 - 12, height - 22 - 24}
	d := New(width, height, "chart levels", label)
	d.Text(p.Left, 13, "start", "axis", axis)
	most = math.Max(most, 1)
	for _, s := range all {
		none, some := make([]float64, len(s.Levels)), make([]float64, len(s.Levels))
		for i, v := range s.Levels {
			some[i] = math.Min(1, v/most)
		}
		d.Path(s.Class, p.Steps(none, some), "")
	}
	d.CountAxis(p, CountTicks(most, 4), most)
	d.TimeAxis(p, ticks, end, true)
	if at >= 0 {
		x := p.Left + p.Width*math.Min(1, at/end)
		d.Line(x, p.Top-4, x, p.Top+p.Height, "now")
	}
	return d.Done()
}
