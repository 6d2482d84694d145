package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
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

// curves makes one curve a row; the paths' measure is that of the panel.
func curves(b block, id string, p panel) ([]curve, logScale) {
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
		out[i].path = p.rising(out[i].spread, scale)
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
func (p panel) rising(spread []time.Duration, scale logScale) string {
	if len(spread) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("M" + num(p.left) + " " + num(p.top+p.height))
	for i, d := range spread {
		b.WriteString("H" + num(p.left+p.width*scale.at(d)) + "V" + num(p.top+p.height*(1-float64(i+1)/float64(len(spread)))))
	}
	b.WriteString("H" + num(p.left+p.width))
	return b.String()
}

var shares = []tick{{0, "0"}, {.25, "25%"}, {.5, "50%"}, {.75, "75%"}, {1, "100%"}}

// spreadChart draws all distributions in one picture.
func spreadChart(b block, id string) (template.HTML, []curve, logScale) {
	p := panel{56, 14, spreadWidth - 56 - 16, spreadHeight - 14 - 44}
	all, scale := curves(b, id, p)
	d := newDrawing(spreadWidth, spreadHeight, "chart", "Share of jobs that end within a time, by policy, on "+b.name)
	d.countAxis(p, shares, 1)
	for _, t := range scale.ticks(14) {
		x := p.left + t.at*p.width
		d.line(x, p.top, x, p.top+p.height, "grid")
		d.text(x, p.top+p.height+15, "middle", "tick", t.text)
	}
	d.text(p.left+p.width/2, spreadHeight-8, "middle", "axis", "time from submit to end (JCT), logarithmic")
	for i := len(all) - 1; i >= 0; i-- { // the first one on top
		c := all[i]
		d.path("curve "+c.Class, c.path, fmt.Sprintf(`id="%s"`, c.ID))
		d.rankDots(p, c, b.rows[i], scale)
	}
	return d.done(), all, scale
}

// rankDots marks the median and the 99th percentile of the distribution drawn. Of
// one seed they are the printed ones; of several seeds the printed ones are means.
func (d *drawing) rankDots(p panel, c curve, r row, scale logScale) {
	n := len(c.spread)
	if n == 0 {
		return
	}
	marks := []tick{{.5, "p50 " + r.P50JCT.String() + " s"}, {.99, "p99 " + r.P99JCT.String() + " s"}}
	if len(r.runs) > 1 {
		marks = []tick{{.5, "median over all seeds"}, {.99, "99th percentile over all seeds"}}
	}
	for _, m := range marks {
		at := c.spread[int(math.Ceil(m.at*float64(n)))-1]
		d.printf(`<circle class="dot %s" cx="%s" cy="%s" r="3.4"><title>%s: %s</title></circle>`, c.Class,
			num(p.left+p.width*scale.at(at)), num(p.top+p.height*(1-m.at)), escaped(c.Name), m.text)
	}
}

// smallSpreads draws each policy's distribution among the others', small.
func smallSpreads(all []curve, scale logScale) []template.HTML {
	if len(all) < 3 {
		return nil
	}
	var out []template.HTML
	for i, c := range all {
		d := newDrawing(smallWidth, smallHeight, "chart small", "JCT of "+c.Name+" among the others")
		p := panel{38, 22, smallWidth - 38 - 14, smallHeight - 22 - 22}
		for _, t := range shares {
			y := p.top + p.height*(1-t.at)
			d.line(p.left, y, p.left+p.width, y, "grid")
			if t.at == 0 || t.at == .5 || t.at == 1 {
				d.text(p.left-5, y+3.5, "end", "tick", t.text)
			}
		}
		for _, t := range scale.ticks(6) {
			x := p.left + t.at*p.width
			d.line(x, p.top, x, p.top+p.height, "grid")
			d.text(x, p.top+p.height+14, "middle", "tick", t.text)
		}
		d.text(p.left, 14, "start", "name "+c.Class, c.Name)
		sx, sy := p.width/(spreadWidth-72), p.height/(spreadHeight-58)
		d.printf(`<g transform="translate(%s %s) scale(%.5f %.5f)">`, num(p.left-56*sx), num(p.top-14*sy), sx, sy)
		for k, other := range all {
			if k != i && other.path != "" {
				d.printf(`<use href="#%s" class="other"/>`, other.ID)
			}
		}
		if c.path != "" {
			d.printf(`<use href="#%s" class="this"/>`, c.ID)
		}
		d.printf(`</g>`)
		out = append(out, d.done())
	}
	return out
}
