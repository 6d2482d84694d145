package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

// curve is the distribution of one policy's JCT.
type curve struct {
	Name   string
	Class  string // of its colour
	ID     string // of its path in the page
	spread []time.Duration
	path   string
}

// The size of the large chart of distributions.
const (
	spreadWidth, spreadHeight = 1080.0, 330.0
	smallWidth, smallHeight   = 350.0, 176.0
)

// curves makes one curve a row; the paths' measure is that of the draw.Panel.
func curves(b block, id string, p draw.Panel) ([]curve, logScale) {
	var out []curve
	var least, most time.Duration
	for i, r := range b.rows {
		c := curve{Name: r.Policy, Class: colour(i), ID: fmt.Sprintf("%s-cdf%d", id, i), spread: r.spread()}
		if n := len(c.spread); n > 0 {
			if least == 0 || c.spread[0] < least {
				least = c.spread[0]
			}
			most = max(most, c.spread[n-1])
		}
		out = append(out, c)
	}
	scale := logScaleOf(least, most)
	for i := range out {
		out[i].path = rising(p, out[i].spread, scale)
	}
	return out, scale
}

// spread is the row's distribution over all its seeds.
func (r row) spread() []time.Duration {
	if len(r.runs) == 1 {
		return r.runs[0].Spread
	}
	var all []time.Duration
	for _, run := range r.runs {
		all = append(all, run.Spread...)
	}
	slices.Sort(all)
	return thinned(all)
}

// rising is the share of jobs that take at most so long, as a path.
func rising(p draw.Panel, spread []time.Duration, scale logScale) string {
	if len(spread) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("M" + draw.Num(p.Left) + " " + draw.Num(p.Top+p.Height))
	for i, d := range spread {
		b.WriteString("H" + draw.Num(p.Left+p.Width*scale.at(d)) + "V" + draw.Num(p.Top+p.Height*(1-float64(i+1)/float64(len(spread)))))
	}
	b.WriteString("H" + draw.Num(p.Left+p.Width))
	return b.String()
}

var shares = []draw.Tick{{At: 0, Text: "0"}, {At: .25, Text: "25%"}, {At: .5, Text: "50%"}, {At: .75, Text: "75%"}, {At: 1, Text: "100%"}}

// spreadChart draws all distributions in one picture.
func spreadChart(b block, id string) (template.HTML, []curve, logScale) {
	p := draw.Panel{Left: 56, Top: 14, Width: spreadWidth - 56 - 16, Height: spreadHeight - 14 - 44}
	all, scale := curves(b, id, p)
	d := draw.New(spreadWidth, spreadHeight, "chart", "Share of jobs that end within a time, by policy, on "+b.name)
	d.CountAxis(p, shares, 1)
	for _, t := range scale.ticks(14) {
		x := p.Left + t.At*p.Width
		d.Line(x, p.Top, x, p.Top+p.Height, "grid")
		d.Text(x, p.Top+p.Height+15, "middle", "tick", t.Text)
	}
	d.Text(p.Left+p.Width/2, spreadHeight-8, "middle", "axis", "time from submit to end (JCT), logarithmic")
	for i := len(all) - 1; i >= 0; i-- { // the first one on top
		c := all[i]
		d.Path("curve "+c.Class, c.path, fmt.Sprintf(`id="%s"`, c.ID))
		rankDots(d, p, c, b.rows[i], scale)
	}
	return d.Done(), all, scale
}

// rankDots marks the median and the 99th percentile of the distribution drawn. Of
// one seed they are the printed ones; of several seeds the printed ones are means.
func rankDots(d *draw.Pen, p draw.Panel, c curve, r row, scale logScale) {
	n := len(c.spread)
	if n == 0 {
		return
	}
	marks := []draw.Tick{{At: .5, Text: "p50 " + r.P50JCT.String() + " s"}, {At: .99, Text: "p99 " + r.P99JCT.String() + " s"}}
	if len(r.runs) > 1 {
		marks = []draw.Tick{{At: .5, Text: "median over all seeds"}, {At: .99, Text: "99th percentile over all seeds"}}
	}
	for _, m := range marks {
		at := c.spread[int(math.Ceil(m.At*float64(n)))-1]
		d.Printf(`<circle class="dot %s" cx="%s" cy="%s" r="3.4"><title>%s: %s</title></circle>`, c.Class,
			draw.Num(p.Left+p.Width*scale.at(at)), draw.Num(p.Top+p.Height*(1-m.At)), draw.Escaped(c.Name), m.Text)
	}
}

// smallSpreads draws each policy's distribution among the others', small.
func smallSpreads(all []curve, scale logScale) []template.HTML {
	if len(all) < 3 {
		return nil
	}
	var out []template.HTML
	for i, c := range all {
		d := draw.New(smallWidth, smallHeight, "chart small", "JCT of "+c.Name+" among the others")
		p := draw.Panel{Left: 38, Top: 22, Width: smallWidth - 38 - 14, Height: smallHeight - 22 - 22}
		for _, t := range shares {
			y := p.Top + p.Height*(1-t.At)
			d.Line(p.Left, y, p.Left+p.Width, y, "grid")
			if t.At == 0 || t.At == .5 || t.At == 1 {
				d.Text(p.Left-5, y+3.5, "end", "tick", t.Text)
			}
		}
		for _, t := range scale.ticks(6) {
			x := p.Left + t.At*p.Width
			d.Line(x, p.Top, x, p.Top+p.Height, "grid")
			d.Text(x, p.Top+p.Height+14, "middle", "tick", t.Text)
		}
		d.Text(p.Left, 14, "start", "name "+c.Class, c.Name)
		sx, sy := p.Width/(spreadWidth-72), p.Height/(spreadHeight-58)
		d.Printf(`<g transform="translate(%s %s) scale(%.5f %.5f)">`, draw.Num(p.Left-56*sx), draw.Num(p.Top-14*sy), sx, sy)
		for k, other := range all {
			if k != i && other.path != "" {
				d.Printf(`<use href="#%s" class="other"/>`, other.ID)
			}
		}
		if c.path != "" {
			d.Printf(`<use href="#%s" class="this"/>`, c.ID)
		}
		d.Printf(`</g>`)
		out = append(out, d.Done())
	}
	return out
}
