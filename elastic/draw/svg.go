package draw

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Pen is an SVG in the making. Its words are escaped here; everything else in
// it is made of numbers.
type Pen struct {
	b strings.Builder
}

// New begins a picture of the given size; label describes it for screen readers.
func New(width, height float64, class, label string) *Pen {
	return begun(width, height, class, "img", label, "")
}

// NewWithLinks is New for a picture with links in it.
func NewWithLinks(width, height float64, class, label string) *Pen {
	return begun(width, height, class, "group", label, "")
}

func begun(width, height float64, class, role, label, extra string) *Pen {
	d := &Pen{}
	d.Printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" class="%s" role="%s" aria-label="%s"%s>`,
		Num(width), Num(height), class, role, Escaped(label), extra)
	return d
}

// Printf adds SVG as it is: it escapes nothing, so words MUST pass through Escaped BEFORE.
func (d *Pen) Printf(form string, args ...any) { fmt.Fprintf(&d.b, form, args...) }

// done ends the picture.
func (d *Pen) Done() template.HTML {
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String())
}

// line draws a straight line.
func (d *Pen) Line(x1, y1, x2, y2 float64, class string) {
	d.Printf(`<path class="%s" d="M%s %sL%s %s"/>`, class, Num(x1), Num(y1), Num(x2), Num(y2))
}

// text writes words; anchor is start, middle or end.
func (d *Pen) Text(x, y float64, anchor, class, words string) {
	d.Printf(`<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, Num(x), Num(y), anchor, class, Escaped(words))
}

// path draws a path; extra is further attributes, or nothing.
func (d *Pen) Path(class, path, extra string) {
	if path == "" {
		return
	}
	if extra != "" {
		extra = " " + extra
	}
	d.Printf(`<path class="%s"%s d="%s"/>`, class, extra, path)
}

// num writes a coordinate with at most two decimals.
func Num(f float64) string {
	r := math.Round(f*100) / 100
	if r == 0 {
		return "0"
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// box is a rectangle as part of a path.
func Box(x, y, width, height float64) string {
	return "M" + Num(x) + " " + Num(y) + "h" + Num(width) + "v" + Num(height) + "h" + Num(-width) + "z"
}

// Panel is the room for one chart within a Pen.
type Panel struct{ Left, Top, Width, Height float64 }

// timeAxis draws marks below the Panel and lines through it.
func (d *Pen) TimeAxis(p Panel, ticks []Tick, end float64, words bool) {
	for _, t := range ticks {
		x := p.Left + t.At/end*p.Width
		d.Line(x, p.Top, x, p.Top+p.Height, "grid")
		if words {
			d.Text(x, p.Top+p.Height+14, "middle", "tick", t.Text)
		}
	}
}

// countAxis draws marks to the left of the Panel and lines through it.
func (d *Pen) CountAxis(p Panel, ticks []Tick, most float64) {
	for _, t := range ticks {
		y := p.Top + p.Height*(1-t.At/most)
		d.Line(p.Left, y, p.Left+p.Width, y, "grid")
		d.Text(p.Left-6, y+3.5, "end", "tick", t.Text)
	}
}

// steps is the outline of an area of even steps between two series of heights,
// both 0..1 of the Panel.
func (p Panel) Steps(lower, upper []float64) string {
	if len(upper) == 0 {
		return ""
	}
	var b strings.Builder
	y := func(v float64) string { return Num(p.Top + p.Height*(1-v)) }
	step := p.Width / float64(len(upper))
	b.WriteString("M" + Num(p.Left) + " " + y(upper[0]))
	for i, v := range upper {
		if i > 0 && y(v) != y(upper[i-1]) {
			b.WriteString("H" + Num(p.Left+step*float64(i)) + "V" + y(v))
		}
	}
	last := len(upper) - 1
	b.WriteString("H" + Num(p.Left+p.Width) + "V" + y(lower[last]))
	for i := last; i > 0; i-- {
		if y(lower[i]) != y(lower[i-1]) {
			b.WriteString("H" + Num(p.Left+step*float64(i)) + "V" + y(lower[i-1]))
		}
	}
	b.WriteString("H" + Num(p.Left) + "z")
	return b.String()
}
