package main

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// sweepInput is what 'sluice sweep show -o FILE' passes on.
type sweepInput struct {
	Sweep  int64
	Name   string
	Metric struct {
		Name string
		Max  bool
	}
	Goal   *float64
	Trials []struct {
		Trial  int
		State  string
		Params map[string]string
		Epochs []float64
		Values []float64
	}
}

// Bounds of a sweep's picture.
const (
	maxSweepInput = 64 << 20
	mostPanels    = 12 // parameters that are drawn
	panelsAcross  = 3
)

// inks are the colours of curves, by the state of their trial.
var inks = map[string]color.Color{"done": green, "running": blue, "waiting": blue, "paused": faintInk, "stopped": faintInk, "failed": amber}

var faintInk = color.RGBA{R: 0xb4, G: 0xbc, B: 0xc4, A: 0xff}

// readSweep reads a sweep and keeps what can be drawn.
func readSweep(in io.Reader) (s sweepInput, err error) {
	data, err := io.ReadAll(io.LimitReader(in, maxSweepInput+1))
	if err == nil && len(data) > maxSweepInput {
		err = fmt.Errorf("the sweep has more than %d bytes", maxSweepInput)
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, err
	}
	drawn := s.Trials[:0]
	for _, t := range s.Trials {
		if len(t.Epochs) > 0 && len(t.Epochs) == len(t.Values) {
			drawn = append(drawn, t)
		}
	}
	if s.Trials = drawn; len(drawn) == 0 {
		return s, fmt.Errorf("no trial has reported %s yet, so there is nothing to draw", printable(s.Metric.Name))
	}
	return s, nil
}

// best is the best value of a curve.
func (s sweepInput) best(values []float64) float64 {
	if s.Metric.Max {
		return slices.Max(values)
	}
	return slices.Min(values)
}

// panels are the plots: the learning curves, then the metric over each parameter.
func (s sweepInput) panels() ([]*plot.Plot, error) {
	curves := panel("epoch", s.Metric.Name)
	curves.Title.Text = printable(fmt.Sprintf("sweep %d, %s", s.Sweep, s.Name))
	for _, state := range []string{"paused", "stopped", "failed", "waiting", "running", "done"} { // the last are on top
		for _, t := range s.Trials {
			if t.State != state {
				continue
			}
			var xys plotter.XYs
			for i := range t.Epochs {
				xys = append(xys, plotter.XY{X: t.Epochs[i], Y: t.Values[i]})
			}
			l, err := line(xys, inks[state], vg.Points(0.8))
			if err != nil {
				return nil, err
			}
			curves.Add(l)
		}
	}
	if s.Goal != nil {
		l, err := line(plotter.XYs{{X: curves.X.Min, Y: *s.Goal}, {X: curves.X.Max, Y: *s.Goal}}, ink, vg.Points(1))
		if err != nil {
			return nil, err
		}
		l.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		curves.Add(l)
	}
	out := []*plot.Plot{curves}
	for _, name := range s.names() {
		p, err := s.over(name)
		if err != nil {
			return nil, err
		}
		if p != nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// names are the parameters that are drawn.
func (s sweepInput) names() []string {
	seen := map[string]map[string]bool{}
	for _, t := range s.Trials {
		for name, value := range t.Params {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][value] = true
		}
	}
	var names []string
	for name, values := range seen {
		if len(values) > 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), mostPanels)]
}

// over draws the best value of each trial over one parameter: by its logarithm if it spans a factor of
// 100, and choices side by side.
func (s sweepInput) over(name string) (*plot.Plot, error) {
	p := panel(printable(name), s.Metric.Name)
	words, numbers, least, most := []string{}, true, math.Inf(1), math.Inf(-1)
	for _, t := range s.Trials {
		value, has := t.Params[name]
		if !has {
			continue
		}
		x, err := strconv.ParseFloat(value, 64)
		numbers = numbers && err == nil && !math.IsInf(x, 0)
		least, most = min(least, x), max(most, x)
		if !slices.Contains(words, value) {
			words = append(words, value)
		}
	}
	slices.Sort(words)
	logs := numbers && least > 0 && most/least >= 100
	var dots plotter.XYs
	for _, t := range s.Trials {
		value, has := t.Params[name]
		if !has {
			continue
		}
		x := float64(slices.Index(words, value))
		if numbers {
			x, _ = strconv.ParseFloat(value, 64) // it was read before
		}
		if logs {
			x = math.Log10(x)
		}
		dots = append(dots, plotter.XY{X: x, Y: s.best(t.Values)})
	}
	points, err := plotter.NewScatter(dots)
	if err != nil {
		return nil, err
	}
	points.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
	p.Add(points)
	switch {
	case logs:
		p.X.Label.Text += " (power of 10)"
	case !numbers:
		var ticks []plot.Tick
		for i, word := range words[:min(len(words), 12)] {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: printable(word)})
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
		p.X.Min, p.X.Max = -0.5, float64(len(words))-0.5
	}
	return p, nil
}

// panel is an empty plot.
func panel(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, printable(y)
	for _, style := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Variant, style.Color = "Sans", ink
		style.Font.Size = font.Points(8)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	return p
}

// renderSweep draws the panels in rows.
func renderSweep(panels []*plot.Plot, kind string) io.WriterTo {
	across := min(panelsAcross, len(panels))
	down := (len(panels) + across - 1) / across
	w, h := vg.Length(across)*9*vg.Centimeter, vg.Length(down)*7*vg.Centimeter
	rows := make([][]*plot.Plot, down)
	for i := range rows {
		rows[i] = make([]*plot.Plot, across)
		copy(rows[i], panels[i*across:min(len(panels), (i+1)*across)])
	}
	tiles := draw.Tiles{Rows: down, Cols: across, PadX: vg.Points(8), PadY: vg.Points(8), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6)}
	paint := func(c draw.Canvas) {
		at := plot.Align(rows, tiles, c)
		for i, row := range rows {
			for j, p := range row {
				if p != nil {
					p.Draw(at[i][j])
				}
			}
		}
	}
	if kind == "svg" {
		canvas := vgsvg.New(w, h)
		paint(draw.New(canvas))
		return canvas
	}
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	paint(draw.New(canvas))
	return vgimg.PngCanvas{Canvas: canvas}
}
