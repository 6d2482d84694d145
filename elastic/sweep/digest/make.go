package digest

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// rated is a trial with its best mark, which is needed many times.
type rated struct {
	*book.Trial
	best  book.Mark
	has   bool
	state book.State // as it is now
}

// Of makes the digest of a sweep. It goes through all reports of it. Texts have no control characters.
func Of(s Source, q Query) Digest {
	all := make([]rated, 0, len(s.Book.Trials))
	for _, t := range s.Book.Sort(s.Sweep) {
		r := rated{Trial: t, state: s.States[t.Number-1]}
		r.best, r.has = t.Best(s.Metric)
		all = append(all, r)
	}
	d := Digest{Sort: ByResult, All: len(all), Began: s.Book.Began, Trials: []Trial{}, Curves: []Curve{}, Params: []Param{}, Dots: []Dot{}, Bests: []Best{}}
	if best := s.Book.Result(s.Sweep); best != nil {
		d.Top = best.Trial
	}
	for _, b := range s.Book.Bests(s.Sweep, mostBests) {
		d.Bests = append(d.Bests, Best{At: b.At, Value: b.Value, Trial: b.Trial})
	}
	for _, t := range chooseCurves(all) {
		d.Curves = append(d.Curves, s.curve(t))
	}
	d.fillDots(s, chooseDots(all))
	if q.Sort == ByNumber {
		d.Sort = ByNumber
		slices.SortFunc(all, func(a, b rated) int { return a.Number - b.Number })
	}
	d.From = min(max(q.From, 0), max(0, len(all)-1))
	for _, t := range all[d.From:min(d.From+MostTrials, len(all))] {
		d.Trials = append(d.Trials, s.row(t))
	}
	return d
}

// row is a trial in the table.
func (s Source) row(t rated) Trial {
	r := Trial{Number: t.Number, State: string(t.state), Starts: t.Start, Point: sweep.Clean(t.Point, maxPoint), Lost: t.Lost, Words: sweep.Clean(t.Words, maxWords), Job: s.Jobs[t.Lane]}
	if last, ok := t.Last(); ok {
		r.Epoch, r.Last = last.Epoch, &last.Value
	}
	if t.has {
		r.Best = &t.best.Value
	}
	return r
}

// chooseCurves selects the trials whose curves are drawn, the best first.
func chooseCurves(trials []rated) (out []rated) {
	for i, t := range trials {
		if t.has && (i < bestCurves || t.Number > len(trials)-newCurves) {
			out = append(out, t)
		}
	}
	return out
}

func (s Source) curve(t rated) Curve {
	c := Curve{Number: t.Number, State: string(t.state), Best: t.best.Value}
	n := min(len(t.Curve), mostPoints)
	for i := range n {
		m := t.Curve[i]
		if n < len(t.Curve) {
			m = t.Curve[i*(len(t.Curve)-1)/(n-1)]
		}
		c.Marks = append(c.Marks, Mark{Epoch: m.Epoch, Value: m.Value, At: m.At, Job: s.Jobs[laneOf(s.Starts[t.Number], m.Start)]})
	}
	return c
}

// laneOf is the lane of a start of a trial; "" = not known.
func laneOf(starts []Start, number int) string {
	for _, s := range starts {
		if s.Number == number {
			return s.Lane
		}
	}
	return ""
}

// chooseDots selects the trials that are drawn as dots, the best first.
func chooseDots(trials []rated) (out []rated) {
	trials = slices.DeleteFunc(slices.Clone(trials), func(t rated) bool { return !t.has })
	if len(trials) <= mostDots {
		return trials
	}
	out = slices.Clone(trials[:mostDots/2])
	rest := trials[mostDots/2:]
	for i := range mostDots / 2 {
		out = append(out, rest[i*len(rest)/(mostDots/2)])
	}
	return out
}

// fillDots fills in the dots, and the parameters that they have.
func (d *Digest) fillDots(s Source, chosen []rated) {
	points := make([]map[string]string, len(chosen))
	for i, t := range chosen {
		points[i] = map[string]string{}
		for _, p := range sweep.ParsePoint(t.Point[:min(len(t.Point), readPoint)]) {
			points[i][p.Name] = p.Text
		}
		d.Dots = append(d.Dots, Dot{Number: t.Number, State: string(t.state), Best: t.best.Value, Values: []string{}})
	}
	for _, text := range s.Params {
		name, kind, _ := strings.Cut(text, "=")
		kind, _, _ = strings.Cut(kind, ":")
		if kind == "fixed" || !slices.ContainsFunc(points, func(p map[string]string) bool { return p[name] != "" }) {
			continue
		}
		if len(d.Params) == mostParams {
			d.Further++
			continue
		}
		d.Params = append(d.Params, Param{Name: sweep.Clean(name, maxName), Kind: sweep.Clean(kind, maxValue)})
		for i := range d.Dots {
			d.Dots[i].Values = append(d.Dots[i].Values, sweep.Clean(points[i][name], maxValue))
		}
	}
}
