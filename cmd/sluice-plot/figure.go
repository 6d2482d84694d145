package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Size of the picture.
const (
	width  = 16 * vg.Centimeter
	height = 10.5 * vg.Centimeter
)

var (
	ink   = color.RGBA{R: 0x22, G: 0x2b, B: 0x35, A: 0xff}
	blue  = color.RGBA{R: 0x1f, G: 0x6f, B: 0xb5, A: 0xff}
	pale  = color.RGBA{R: 0x93, G: 0xbf, B: 0xe3, A: 0xff}
	grey  = color.RGBA{R: 0x8a, G: 0x93, B: 0x9c, A: 0xff}
	amber = color.RGBA{R: 0xd8, G: 0x8a, B: 0x1d, A: 0xff}
	green = color.RGBA{R: 0x2f, G: 0x8f, B: 0x5b, A: 0xff}
	faint = color.RGBA{R: 0xe3, G: 0xe7, B: 0xeb, A: 0xff}
)

// formInks are the colours of forms, in their order.
var formInks = []color.Color{pale, amber, green}

// figure draws the measured points with their scatter, the curve that sluice decides by
// or the curves of several forms, and perfect scaling from the smallest size.
func figure(p speed.Profile) (*plot.Plot, error) {
	slices.SortFunc(p.Points, func(a, b speed.Point) int { return a.GPUs - b.GPUs })
	most := p.Points[len(p.Points)-1].GPUs
	for _, f := range p.Forms {
		for _, pt := range f.Points {
			most = max(most, pt.GPUs)
		}
	}
	fig := plot.New()
	frame(fig, p, most)
	ideal, err := line(plotter.XYs{{X: 0, Y: 0}, {X: float64(most), Y: 1 / p.Ideal(most)}}, grey, vg.Points(1.2))
	if err != nil {
		return nil, err
	}
	ideal.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	dots, bars, err := points(p)
	if err != nil {
		return nil, err
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	fig.Add(grid, ideal)
	fig.Legend.Add("measured", dots)
	if err := curves(fig, p, most); err != nil {
		return nil, err
	}
	fig.Add(bars, dots)
	fig.Legend.Add("ideal", ideal)
	fig.Y.Min, fig.X.Min = 0, 0
	fig.X.Max = float64(most) * 1.04
	fig.Y.Tick.Marker = plot.ConstantTicks(rounds(fig.Y.Max))
	fig.Y.Max *= 1.04
	return fig, nil
}

// curves draws the expected speed between and beyond the points: of each form, or of the
// curve that sluice decides by.
func curves(fig *plot.Plot, p speed.Profile, most int) error {
	if len(p.Forms) == 0 {
		curve, err := line(fitted(p, most), pale, vg.Points(2.5))
		if err != nil {
			return err
		}
		fig.Add(curve)
		fig.Legend.Add("fitted", curve)
		return nil
	}
	for i, f := range p.Forms {
		var xys plotter.XYs
		for _, pt := range f.Points {
			xys = append(xys, plotter.XY{X: float64(pt.GPUs), Y: 1 / pt.Seconds})
		}
		curve, err := line(xys, formInks[i%len(formInks)], vg.Points(1.4))
		if err != nil {
			return err
		}
		if f.Used {
			curve.Width = vg.Points(2.5)
		}
		fig.Add(curve)
		fig.Legend.Add(printable(f.Name), curve)
	}
	return nil
}

// frame sets the title, the axes and the fonts.
func frame(fig *plot.Plot, p speed.Profile, most int) {
	fig.Title.Text = title(p)
	fig.Title.Padding = vg.Points(8)
	fig.X.Label.Padding, fig.Y.Label.Padding = vg.Points(4), vg.Points(4)
	fig.X.Label.Text = "GPUs"
	fig.Y.Label.Text = p.Of + "s a second"
	for _, style := range []*draw.TextStyle{&fig.Title.TextStyle, &fig.X.Label.TextStyle, &fig.Y.Label.TextStyle,
		&fig.X.Tick.Label, &fig.Y.Tick.Label, &fig.Legend.TextStyle} {
		style.Font.Variant, style.Color = "Sans", ink
		style.Font.Size = font.Points(9)
	}
	fig.Title.TextStyle.Font.Size = font.Points(11)
	fig.X.LineStyle.Color, fig.Y.LineStyle.Color = ink, ink
	fig.X.Tick.Marker = plot.ConstantTicks(ticks(p, most))
	fig.X.Padding, fig.Y.Padding = 0, 0
	fig.Legend.Top, fig.Legend.Left = true, true
	fig.Legend.XOffs, fig.Legend.YOffs = vg.Points(8), -vg.Points(4)
	fig.Legend.Padding = vg.Points(2)
}

// title says what was measured, on how many nodes, and notes about it.
func title(p speed.Profile) string {
	name := p.Model
	if name == "" {
		name = p.Script
	}
	least, most := math.MaxInt, 0
	for _, pt := range p.Points {
		least, most = min(least, max(1, pt.Nodes)), max(most, pt.Nodes, 1)
	}
	nodes := fmt.Sprintf("%d to %d nodes", least, most)
	switch {
	case most == 1:
		nodes = "1 node"
	case least == most:
		nodes = fmt.Sprintf("%d nodes", most)
	}
	text := fmt.Sprintf("%s, %s", printable(name), nodes)
	if strings.Contains(strings.ToLower(strings.Join(p.Notes, " ")), "emulated") {
		text += " (GPU time emulated)"
	}
	return text
}

// printable keeps the characters that the fonts have.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > 70 {
		return string(runes[:70]) + "..."
	}
	return s
}

// ticks marks the measured sizes, as far as their labels do not overlap.
func ticks(p speed.Profile, most int) []plot.Tick {
	out := []plot.Tick{{Value: 0, Label: "0"}}
	last := 0.0
	for _, pt := range p.Points {
		t := plot.Tick{Value: float64(pt.GPUs)}
		if t.Value-last >= float64(most)*0.03 {
			t.Label, last = strconv.Itoa(pt.GPUs), t.Value
		}
		out = append(out, t)
	}
	if float64(most)-last >= float64(most)*0.03 {
		out = append(out, plot.Tick{Value: float64(most), Label: strconv.Itoa(most)})
	}
	return out
}

// rounds marks about five round numbers up to most.
func rounds(most float64) (out []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, more := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if most/step <= 6 {
			break
		}
		step *= more
	}
	for n := 0; float64(n)*step <= most*1.001; n++ {
		out = append(out, plot.Tick{Value: float64(n) * step, Label: strconv.FormatFloat(float64(n)*step, 'g', 4, 64)})
	}
	return out
}

func line(xys plotter.XYs, c color.Color, w vg.Length) (*plotter.Line, error) {
	l, err := plotter.NewLine(xys)
	if err == nil {
		l.Color, l.Width = c, w
	}
	return l, err
}

// mostDrawn bounds the number of sizes at which the curve is drawn.
const mostDrawn = 400

// fitted is the curve through the points, at whole numbers of GPUs from the smallest
// measured on.
func fitted(p speed.Profile, most int) plotter.XYs {
	curve := p.Curve()
	var out plotter.XYs
	least := p.Points[0].GPUs
	step := max(1, (most-least)/mostDrawn)
	at := func(gpus int) {
		seconds, _ := curve.Seconds(speed.Shape{GPUs: gpus, Nodes: p.NodesAt(gpus)})
		out = append(out, plotter.XY{X: float64(gpus), Y: 1 / seconds})
	}
	for gpus := least; gpus < most; gpus += step {
		at(gpus)
	}
	at(most)
	return out
}

// scatter draws the points with one standard deviation to either side.
type scatter struct {
	plotter.XYs
	plotter.YErrors
}

func points(p speed.Profile) (*plotter.Scatter, *plotter.YErrorBars, error) {
	var all scatter
	for _, pt := range p.Points {
		rate := 1 / pt.Seconds
		off := rate * math.Min(pt.Spread/pt.Seconds, 0.9)
		all.XYs = append(all.XYs, plotter.XY{X: float64(pt.GPUs), Y: rate})
		all.YErrors = append(all.YErrors, struct{ Low, High float64 }{off, off})
	}
	dots, err := plotter.NewScatter(all.XYs)
	if err != nil {
		return nil, nil, err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: vg.Points(3.2), Shape: draw.CircleGlyph{}}
	bars, err := plotter.NewYErrorBars(all)
	if err != nil {
		return nil, nil, err
	}
	bars.LineStyle.Color, bars.LineStyle.Width = blue, vg.Points(1)
	return dots, bars, nil
}

// resolution is the PNG's, in dots per inch; margin is the free space around the plot.
const (
	resolution = 160
	margin     = 9 // points
)

// render draws the plot as png or svg.
func render(fig *plot.Plot, kind string) io.WriterTo {
	var canvas vg.CanvasSizer
	var out io.WriterTo
	if kind == "svg" {
		c := vgsvg.New(width, height)
		canvas, out = c, c
	} else {
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution))
		canvas, out = c, vgimg.PngCanvas{Canvas: c}
	}
	fig.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	return out
}
