package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"html/template"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// Bounds of the drawings of a sweep: a page of 10,000 trials stays small.
const (
	bestCurves  = 80 // curves of the best trials that are drawn
	newCurves   = 40 // and of the newest ones
	curvePoints = 40 // of a curve
	mostDots    = 400
	mostCharts  = 12 // parameters that are drawn
	mostWords   = 24 // values of a parameter that is drawn by its words
)

// gpuKey is a colour of curves.
type gpuKey struct{ Class, Text string }

// gpuKeys are the colours, by the number of GPUs at most.
var gpuKeys = []struct {
	most int
	gpuKey
}{{0, gpuKey{"w0", "not known"}}, {1, gpuKey{"w1", "1 GPU"}}, {2, gpuKey{"w2", "2 GPUs"}}, {4, gpuKey{"w4", "3 or 4 GPUs"}}, {8, gpuKey{"w8", "5 to 8 GPUs"}},
	{16, gpuKey{"w16", "9 to 16 GPUs"}}, {math.MaxInt, gpuKey{"w32", "more than 16 GPUs"}}}

func keyOf(gpus int) int {
	return slices.IndexFunc(gpuKeys, func(k struct {
		most int
		gpuKey
	}) bool {
		return gpus <= k.most
	})
}

// drawCurves draws learning curves: of the best trials and of the newest, each part in the colour of the
// GPUs that its lane had.
func (view *sweepView) drawCurves(s *own.View, trials []rated, sizes laneSizes) {
	chosen := chooseCurves(trials)
	if len(chosen) == 0 {
		return
	}
	jobs := map[string]int64{}
	for _, l := range s.Lanes {
		jobs[l.Token] = l.Job
	}
	low, high := usualRange(chosen, s)
	top := leading(s)
	used := map[int]bool{}
	var curves []draw.Curve
	for _, t := range slices.Backward(chosen) { // the best are drawn last
		starts := s.Starts[t.Number]
		c := draw.Curve{Class: "trial", Title: fmt.Sprintf("trial %d, %s: best %s %s", t.Number, t.late, short(s.Metric.Name, 40), present.Metric(t.best.Value))}
		if t.Number == top {
			c.Class = "trial top"
		}
		var x, y float64
		for k, m := range thinned(t.Curve) {
			key := keyOf(sizes.at(jobs[laneOf(starts, m.Start)], time.UnixMilli(m.At)))
			used[key] = true
			class := gpuKeys[key].Class
			value := math.Min(high, math.Max(low, m.Value))
			if n := len(c.Parts); n == 0 || c.Parts[n-1].Class != class {
				part := draw.Line{Class: class}
				if k > 0 { // it begins where the one before ends
					part.X, part.Y = []float64{x}, []float64{y}
				}
				c.Parts = append(c.Parts, part)
			}
			last := &c.Parts[len(c.Parts)-1]
			last.X, last.Y = append(last.X, m.Epoch), append(last.Y, value)
			x, y = m.Epoch, value
		}
		curves = append(curves, c)
	}
	view.Drawn = len(curves)
	for i, k := range gpuKeys {
		if used[i] {
			view.Keys = append(view.Keys, k.gpuKey)
		}
	}
	label := fmt.Sprintf("Learning curves of %s of sweep %d: %s by epoch, coloured by the GPUs of the lane", draw.Count(len(curves), "trial"), view.Number, short(s.Metric.Name, 40))
	view.Curves = draw.Curves(curves, s.Goal, label, "epoch", short(s.Metric.Name, 40))
}

// chooseCurves selects the trials whose curves are drawn, the best first.
func chooseCurves(trials []rated) (out []rated) {
	newest := 0
	for _, t := range trials {
		newest = max(newest, t.Number)
	}
	for i, t := range trials {
		if t.has && (i < bestCurves || t.Number > newest-newCurves) {
			out = append(out, t)
		}
	}
	return out
}

// thinned are at most curvePoints marks, the first and the last among them.
func thinned(curve []book.Mark) []book.Mark {
	if len(curve) <= curvePoints {
		return curve
	}
	out := make([]book.Mark, curvePoints)
	for i := range out {
		out[i] = curve[i*(len(curve)-1)/(curvePoints-1)]
	}
	return out
}

// laneOf is the lane of a start of a trial.
func laneOf(starts []own.Start, number int) string {
	for _, s := range starts {
		if s.Number == number {
			return s.Lane
		}
	}
	return ""
}

// usualRange is the range of the metric without its most extreme hundredths: a loss of 10^6 in the first
// epoch would flatten all the rest. The best result and the goal are in it.
func usualRange(trials []rated, s *own.View) (low, high float64) {
	var all []float64
	for _, t := range trials {
		for _, m := range thinned(t.Curve) {
			all = append(all, m.Value)
		}
	}
	slices.Sort(all)
	low, high = all[len(all)/100], all[len(all)-1-len(all)/100]
	include := func(v float64) { low, high = math.Min(low, v), math.Max(high, v) }
	include(trials[0].best.Value)
	if s.Goal != nil {
		include(*s.Goal)
	}
	return low, high
}

// paramChart is the metric over one parameter.
type paramChart struct {
	Name  string
	Chart template.HTML
}

// drawParams draws the best result of trials over each parameter.
func (view *sweepView) drawParams(s *own.View, trials []rated) {
	chosen := chooseDots(trials)
	points := make([]map[string]string, len(chosen))
	for i, t := range chosen {
		points[i] = map[string]string{}
		for _, p := range sweep.ParsePoint(t.Point) {
			points[i][p.Name] = p.Text
		}
	}
	for _, text := range s.Params {
		name, kind, _ := strings.Cut(text, "=")
		if kind, _, _ = strings.Cut(kind, ":"); kind == "fixed" || len(chosen) == 0 {
			continue
		}
		if len(view.Params) == mostCharts {
			view.NotDrawn++
			continue
		}
		if chart := dotsOf(name, kind, s, chosen, points); chart != "" {
			view.Params = append(view.Params, paramChart{short(name, 40), chart})
		}
	}
}

// chooseDots selects the trials that are drawn as dots: the better half are the best, the others are spread
// over all. They are in order, the best first.
func chooseDots(trials []rated) (out []rated) {
	trials = slices.DeleteFunc(slices.Clone(trials), func(t rated) bool { return !t.has })
	n := len(trials)
	if n <= mostDots {
		return trials
	}
	out = slices.Clone(trials[:mostDots/2])
	rest := trials[mostDots/2 : n]
	for i := range mostDots / 2 {
		out = append(out, rest[i*len(rest)/(mostDots/2)])
	}
	return out
}

// dotsOf draws one parameter; "" if no trial has it.
func dotsOf(name, kind string, s *own.View, chosen []rated, points []map[string]string) template.HTML {
	var words []string
	if kind == "choice" {
		for _, p := range points {
			if text, ok := p[name]; ok && !slices.Contains(words, text) && len(words) < mostWords {
				words = append(words, text)
			}
		}
		slices.Sort(words)
	}
	low, high := dotRange(chosen, s.Metric)
	dots, best := draw.Line{Class: "dot"}, draw.Line{Class: "dot top"}
	top := leading(s)
	failed := draw.Line{Class: "dot low"}
	for i, t := range chosen {
		x, ok := valueOf(points[i], name, kind, words)
		if !ok {
			continue
		}
		into := &dots
		switch {
		case t.Number == top:
			into = &best
		case t.late == book.Failed || t.late == book.Paused || t.late == book.Stopped:
			into = &failed
		}
		into.X, into.Y = append(into.X, x), append(into.Y, math.Min(high, math.Max(low, t.best.Value)))
	}
	label := fmt.Sprintf("Best %s of each trial over %s", short(s.Metric.Name, 40), short(name, 40))
	return draw.Dots([]draw.Line{failed, dots, best}, words, kind == "log" || kind == "logint", label, short(name, 40), short(s.Metric.Name, 40))
}

// dotRange is the range of results without the worst twentieth, which may be far away.
func dotRange(chosen []rated, m sweep.Metric) (low, high float64) {
	best, worst := chosen[0].best.Value, chosen[len(chosen)-1-len(chosen)/20].best.Value
	if m.Max {
		return worst, math.Inf(1)
	}
	return math.Min(best, worst), math.Max(best, worst)
}

// valueOf is where a trial is on the axis of a parameter.
func valueOf(point map[string]string, name, kind string, words []string) (x float64, ok bool) {
	text, has := point[name]
	if !has {
		return 0, false
	}
	if kind == "choice" {
		i := slices.Index(words, text)
		return float64(i), i >= 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || (kind == "log" || kind == "logint") && x <= 0 {
		return 0, false
	}
	return x, true
}
