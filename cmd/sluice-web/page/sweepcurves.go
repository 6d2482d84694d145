package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"html/template"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// mostWords is how many values of a parameter are drawn, if it is drawn by its words.
const mostWords = 24

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

// drawCurves draws learning curves, each part in the colour of the GPUs that its lane had.
func (view *sweepView) drawCurves(d digest.Digest, sizes laneSizes) {
	if len(d.Curves) == 0 {
		return
	}
	low, high := usualRange(d.Curves, view.Goal)
	used := map[int]bool{}
	var curves []draw.Curve
	for _, t := range slices.Backward(d.Curves) { // the best are drawn last
		c := draw.Curve{Class: "trial", Title: fmt.Sprintf("trial %d, %s: best %s %s", t.Number, t.State, short(view.Metric, 40), present.Metric(t.Best))}
		if t.Number == d.Top {
			c.Class = "trial top"
		}
		var x, y float64
		for k, m := range t.Marks {
			key := keyOf(sizes.at(m.Job, time.UnixMilli(m.At)))
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
	label := fmt.Sprintf("Learning curves of %s of sweep %d: %s by epoch, coloured by the GPUs of the lane", draw.Count(len(curves), "trial"), view.Number, short(view.Metric, 40))
	view.Curves = draw.Curves(curves, view.Goal, label, "epoch", short(view.Metric, 40))
}

// usualRange is the range of the metric without its most extreme hundredths: a loss of 10^6 in the first
// epoch would flatten all the rest. The best result and the goal are in it.
func usualRange(curves []digest.Curve, goal *float64) (low, high float64) {
	var all []float64
	for _, c := range curves {
		for _, m := range c.Marks {
			all = append(all, m.Value)
		}
	}
	if len(all) == 0 { // sluiced sends none such
		return 0, 1
	}
	slices.Sort(all)
	low, high = all[len(all)/100], all[len(all)-1-len(all)/100]
	include := func(v float64) { low, high = math.Min(low, v), math.Max(high, v) }
	include(curves[0].Best)
	if goal != nil {
		include(*goal)
	}
	return low, high
}

// paramChart is the metric over one parameter.
type paramChart struct {
	Name  string
	Chart template.HTML
}

// drawParams draws the best result of trials over each parameter.
func (view *sweepView) drawParams(d digest.Digest) {
	view.NotDrawn = d.Further
	for i, p := range d.Params {
		if chart := view.dotsOf(d, i); chart != "" {
			view.Params = append(view.Params, paramChart{short(p.Name, 40), chart})
		}
	}
}

// dotsOf draws one parameter; "" if no trial has it.
func (view *sweepView) dotsOf(d digest.Digest, param int) template.HTML {
	name, kind := d.Params[param].Name, d.Params[param].Kind
	var words []string
	if kind == "choice" {
		for _, t := range d.Dots {
			if text := valueOf(t, param); text != "" && !slices.Contains(words, text) && len(words) < mostWords {
				words = append(words, text)
			}
		}
		slices.Sort(words)
	}
	low, high := dotRange(d.Dots, view.Max)
	dots, best := draw.Line{Class: "dot"}, draw.Line{Class: "dot top"}
	failed := draw.Line{Class: "dot low"}
	for _, t := range d.Dots {
		x, ok := placeOf(valueOf(t, param), kind, words)
		if !ok {
			continue
		}
		into := &dots
		switch state := book.State(t.State); {
		case t.Number == d.Top:
			into = &best
		case state == book.Failed || state == book.Paused || state == book.Stopped:
			into = &failed
		}
		into.X, into.Y = append(into.X, x), append(into.Y, math.Min(high, math.Max(low, t.Best)))
	}
	label := fmt.Sprintf("Best %s of each trial over %s", short(view.Metric, 40), short(name, 40))
	return draw.Dots([]draw.Line{failed, dots, best}, words, kind == "log" || kind == "logint", label, short(name, 40), short(view.Metric, 40))
}

// dotRange is the range of results without the worst twentieth, which may be far away.
func dotRange(dots []digest.Dot, larger bool) (low, high float64) {
	best, worst := dots[0].Best, dots[len(dots)-1-len(dots)/20].Best
	if larger {
		return worst, math.Inf(1)
	}
	return math.Min(best, worst), math.Max(best, worst)
}

// valueOf is the value of a parameter in a trial; "" = it has none.
func valueOf(t digest.Dot, param int) string {
	if param >= len(t.Values) {
		return ""
	}
	return t.Values[param]
}

// placeOf is where a trial with a value of a parameter is on the parameter's axis.
func placeOf(text, kind string, words []string) (x float64, ok bool) {
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
