package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is an SVG in the making. Its words are escaped here; everything else in
// it is made of numbers.
type drawing struct {
	b strings.Builder
}

// newDrawing begins a picture of the given size; label describes it for screen readers.
func newDrawing(width, height float64, class, label string) *drawing {
	d := &drawing{}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" class="%s" role="img" aria-label="%s">`,
		num(width), num(height), class, escaped(label))
	return d
}

func (d *drawing) printf(form string, args ...any) { fmt.Fprintf(&d.b, form, args...) }

// done ends the picture.
func (d *drawing) done() template.HTML {
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String())
}

// line draws a straight line.
func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.printf(`<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

// text writes words; anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, class, words string) {
	d.printf(`<text x="%s" y="%s" text-anchor="%s" class="%s">%s</text>`, num(x), num(y), anchor, class, escaped(words))
}

// path draws a path; extra is further attributes, or nothing.
func (d *drawing) path(class, path, extra string) {
	if path == "" {
		return
	}
	if extra != "" {
		extra = " " + extra
	}
	d.printf(`<path class="%s"%s d="%s"/>`, class, extra, path)
}

// num writes a coordinate with at most two decimals.
func num(f float64) string {
	r := math.Round(f*100) / 100
	if r == 0 {
		return "0"
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// box is a rectangle as part of a path.
func box(x, y, width, height float64) string {
	return "M" + num(x) + " " + num(y) + "h" + num(width) + "v" + num(height) + "h" + num(-width) + "z"
}

// panel is the room for one chart within a drawing.
type panel struct{ left, top, width, height float64 }

// timeAxis draws marks below the panel and lines through it.
func (d *drawing) timeAxis(p panel, ticks []tick, end float64, words bool) {
	for _, t := range ticks {
		x := p.left + t.at/end*p.width
		d.line(x, p.top, x, p.top+p.height, "grid")
		if words {
			d.text(x, p.top+p.height+14, "middle", "tick", t.text)
		}
	}
}

// countAxis draws marks to the left of the panel and lines through it.
func (d *drawing) countAxis(p panel, ticks []tick, most float64) {
	for _, t := range ticks {
		y := p.top + p.height*(1-t.at/most)
		d.line(p.left, y, p.left+p.width, y, "grid")
		d.text(p.left-6, y+3.5, "end", "tick", t.text)
	}
}

// steps is the outline of an area of even steps between two series of heights,
// both 0..1 of the panel.
func (p panel) steps(lower, upper []float64) string {
	if len(upper) == 0 {
		return ""
	}
	var b strings.Builder
	y := func(v float64) string { return num(p.top + p.height*(1-v)) }
	step := p.width / float64(len(upper))
	b.WriteString("M" + num(p.left) + " " + y(upper[0]))
	for i, v := range upper {
		if i > 0 && y(v) != y(upper[i-1]) {
			b.WriteString("H" + num(p.left+step*float64(i)) + "V" + y(v))
		}
	}
	last := len(upper) - 1
	b.WriteString("H" + num(p.left+p.width) + "V" + y(lower[last]))
	for i := last; i > 0; i-- {
		if y(lower[i]) != y(lower[i-1]) {
			b.WriteString("H" + num(p.left+step*float64(i)) + "V" + y(lower[i-1]))
		}
	}
	b.WriteString("H" + num(p.left) + "z")
	return b.String()
}
