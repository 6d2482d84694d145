package draw

import (
	"html/template"
	"math"
)

// Shift is an end that moves.
type Shift struct {
	Name, Title   string
	Before, After float64 // seconds on the axis; negative = not known
}

// Shifts draws how ends move: a ring where each was, a dot where it would be, and a line between.
// ticks mark the axis of so many seconds. label is the drawing in words.
func Shifts(all []Shift, ticks []Tick, end float64, label string) template.HTML {
	const width, left, high = 1080.0, 150.0, 20.0
	p := Panel{left, 6, width - left - 14, high * float64(len(all))}
	d := New(width, p.Top+p.Height+22, "chart shifts", label)
	d.TimeAxis(p, ticks, end, true)
	end = math.Max(end, 1)
	for i, s := range all {
		y := p.Top + high*(float64(i)+.5)
		d.Text(left-8, y+3.5, "end", "tick", Shortened(s.Name, 22))
		if s.Before < 0 && s.After < 0 {
			continue
		}
		x := func(v float64) float64 { return p.Left + p.Width*math.Min(1, v/end) }
		class := "same"
		switch {
		case s.Before < 0 || s.After < 0:
		case s.After > s.Before+1:
			class = "worse"
		case s.After < s.Before-1:
			class = "better"
		}
		d.Printf(`<g class="shift %s"><title>%s</title>`, class, Escaped(s.Title))
		if s.Before >= 0 && s.After >= 0 {
			d.Line(x(s.Before), y, x(s.After), y, "way")
		}
		if s.Before >= 0 {
			d.Printf(`<circle class="was" cx="%s" cy="%s" r="4"/>`, Num(x(s.Before)), Num(y))
		}
		if s.After >= 0 {
			d.Printf(`<circle class="is" cx="%s" cy="%s" r="4.5"/>`, Num(x(s.After)), Num(y))
		}
		d.Printf("</g>")
	}
	return d.Done()
}
