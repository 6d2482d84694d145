package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// publish prints the results, and draws them. Without a measured size it returns an
// error.
func (p *profiling) publish(ctx context.Context) error {
	result := p.result()
	if err := p.print(result); err != nil {
		return err
	}
	if !slices.ContainsFunc(result.Points, func(pt speed.Point) bool { return pt.Seconds > 0 }) {
		return terminal.ExitCode(1)
	}
	if p.options.output != "" {
		return plot(ctx, result, p.options.output)
	}
	return nil
}

// result collects the sizes. All of them are compared by the same unit: by steps if every
// run that reported anything reported steps, else by the job's units.
func (p *profiling) result() speed.Profile {
	r := speed.Profile{Version: speed.ProfileVersion, Script: p.script, Model: p.base.request.Spec.Model, Of: "step"}
	for _, s := range p.sizes {
		if _, of := s.log.Spans(); s.point.Error == "" && of != "step" {
			r.Of = string(cmp.Or(p.base.request.Spec.Unit, elastic.Epochs))
		}
	}
	for _, s := range p.sizes {
		if s.point.Error == "" {
			s.measure(r.Of)
		}
		r.Points = append(r.Points, s.point)
		if s.note != "" && len(r.Notes) == 0 { // each size has it in its own figures
			r.Notes = []string{s.note}
		}
	}
	r.Compare()
	return r
}

// measure fills in the size's point.
func (s *profiledSize) measure(of string) {
	spans, _ := s.log.Spans()
	if of != "step" {
		spans = s.log.Units()
	}
	s.point.Measure(columns(spans))
	if s.point.Seconds == 0 {
		s.point.Error = fmt.Sprintf("job %d reported steps, and others whole units only: they cannot be compared", s.point.Job)
	}
}

func columns(spans []checkpoint.Span) (seconds, steps []float64) {
	for _, s := range spans {
		seconds, steps = append(seconds, s.Seconds), append(steps, s.Steps)
	}
	return seconds, steps
}

func (p *profiling) print(r speed.Profile) error {
	switch p.options.form {
	case "json":
		return terminal.WriteJSON(p.out, r)
	case "csv":
		return profileCSV(p.out, r)
	}
	if err := profileTable(p.out, r); err != nil {
		return err
	}
	_, err := io.WriteString(p.out, profilePlot(r, speaksUnicode(p.environ)))
	return err
}

// profileTable prints one line per size, then errors, then notes.
func profileTable(w io.Writer, r speed.Profile) error {
	t := terminal.Table{Columns: []terminal.Column{terminal.Right("GPUS"), terminal.Right("NODES"), terminal.Right("SECONDS/" + strings.ToUpper(r.Of)), terminal.Right("+-"),
		terminal.Right(strings.ToUpper(r.Of) + "S/S"), terminal.Right("SPEED-UP"), terminal.Right("EFFICIENCY"), terminal.Right("MEASURED")}}
	for _, pt := range r.Points {
		if pt.Seconds == 0 {
			t.Add(fmt.Sprint(pt.GPUs), "-", "-", "-", "-", "-", "-", "-")
			continue
		}
		spread := "-"
		if pt.Spread > 0 {
			spread = fmt.Sprintf("%.1f%%", 100*pt.Spread/pt.Seconds)
		}
		t.Add(fmt.Sprint(pt.GPUs), fmt.Sprint(max(1, pt.Nodes)), present.Figure(pt.Seconds), spread, present.Figure(1/pt.Seconds),
			fmt.Sprintf("%.2f", pt.Speedup), fmt.Sprintf("%.0f%%", 100*pt.Efficiency), fmt.Sprintf("%.0f %ss", pt.Steps, r.Of))
	}
	if slices.ContainsFunc(r.Points, func(pt speed.Point) bool { return pt.Seconds > 0 }) {
		if err := t.Write(w); err != nil {
			return err
		}
	}
	for _, pt := range r.Points {
		if pt.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", terminal.Plural(pt.GPUs, "GPU"), terminal.Escape(pt.Error))
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "the program says: %s\n", terminal.Escape(note))
	}
	return nil
}

func profileCSV(w io.Writer, r speed.Profile) error {
	out := csv.NewWriter(w)
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	_ = out.Write([]string{"gpus", "nodes", "seconds_per_" + r.Of, "spread_seconds", r.Of + "s_per_second", "speedup", "efficiency", "measured", "job_id", "error"})
	for _, pt := range r.Points {
		rate := 0.0
		if pt.Seconds > 0 {
			rate = 1 / pt.Seconds
		}
		_ = out.Write([]string{strconv.Itoa(pt.GPUs), number(float64(pt.Nodes)), number(pt.Seconds), number(pt.Spread), number(rate),
			number(pt.Speedup), number(pt.Efficiency), number(pt.Steps), number(float64(pt.Job)), pt.Error})
	}
	out.Flush()
	return out.Error() // the first failed write
}

// The size of the text plot, in characters.
const (
	plotWidth  = 56
	plotHeight = 11
)

// profilePlot draws throughput against GPUs in text: measured points, the curve through
// them, and ideal scaling. "" if there are not two points.
func profilePlot(r speed.Profile, unicode bool) string {
	var most, points int
	top := 0.0
	for _, pt := range r.Points {
		if pt.Seconds > 0 {
			points, most, top = points+1, max(most, pt.GPUs), max(top, 1/pt.Seconds)
		}
	}
	if points < 2 {
		return ""
	}
	top = max(top, 1/r.Ideal(most))
	c := newCanvas(most, top, unicode)
	curve := r.Curve()
	for x := range plotWidth {
		g := c.gpus(x)
		c.put(g, g/r.Ideal(1), c.ideal)
		if below, part := math.Modf(g); below >= 1 {
			rate := func(n int) float64 {
				seconds, _ := curve.Seconds(speed.Shape{GPUs: n, Nodes: r.NodesAt(n)})
				return 1 / seconds
			}
			c.put(g, rate(int(below))*(1-part)+rate(int(below)+1)*part, c.line)
		}
	}
	for _, pt := range r.Points {
		if pt.Seconds > 0 {
			c.put(float64(pt.GPUs), 1/pt.Seconds, c.dot)
		}
	}
	return c.render(r)
}

// canvas is the plot being drawn.
type canvas struct {
	cells            [plotHeight][plotWidth]rune
	most             int
	top              float64
	dot, line, ideal rune
	side, foot, bend string
}

func newCanvas(most int, top float64, unicode bool) *canvas {
	c := &canvas{most: most, top: top, dot: '*', line: '-', ideal: '.', side: "|", foot: "-", bend: "+"}
	if unicode {
		c.dot, c.line, c.ideal, c.side, c.foot, c.bend = '●', '─', '·', "│", "─", "└"
	}
	for y := range c.cells {
		for x := range c.cells[y] {
			c.cells[y][x] = ' '
		}
	}
	return c
}

// gpus is the number of GPUs, with a fraction, at a column.
func (c *canvas) gpus(x int) float64 { return float64(x+1) * float64(c.most) / plotWidth }

func (c *canvas) put(gpus, rate float64, what rune) {
	x := int(math.Round(gpus*plotWidth/float64(c.most))) - 1
	y := int(math.Round(rate / c.top * (plotHeight - 1)))
	if x >= 0 && x < plotWidth && y >= 0 && y < plotHeight {
		c.cells[plotHeight-1-y][x] = what
	}
}

func (c *canvas) render(r speed.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%ss a second   %c measured  %c curve  %c ideal\n", r.Of, c.dot, c.line, c.ideal)
	for y, row := range c.cells {
		label := ""
		if y == 0 || y == plotHeight/2 {
			label = present.Figure(c.top * float64(plotHeight-1-y) / (plotHeight - 1))
		}
		fmt.Fprintf(&b, "%8s %s%s\n", label, c.side, strings.TrimRight(string(row[:]), " "))
	}
	fmt.Fprintf(&b, "%8s %s%s\n", "0", c.bend, strings.Repeat(c.foot, plotWidth))
	axis := []rune(strings.Repeat(" ", plotWidth+8))
	for _, pt := range r.Points {
		text := []rune(strconv.Itoa(pt.GPUs))
		at := int(math.Round(float64(pt.GPUs)*plotWidth/float64(c.most))) - len(text)
		if at = max(0, at); at+len(text) <= len(axis) && (at == 0 || axis[at-1] == ' ') {
			copy(axis[at:], text)
		}
	}
	fmt.Fprintf(&b, "%8s  %s\n", "GPUs", strings.TrimRight(string(axis), " "))
	return b.String()
}

// speaksUnicode reports whether the user's terminal is set to Unicode.
func speaksUnicode(environ []string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the first that is set counts
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok && value != "" {
				value = strings.ToUpper(strings.ReplaceAll(value, "-", ""))
				return strings.HasSuffix(value, "UTF8")
			}
		}
	}
	return false
}
