package book

import (
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Point is the trials of one point: its repeats, or a single one.
type Point struct {
	Trials []*Trial // by number
	// Value is the mean of the best marks of its trials that did not fail; Marks is how many there
	// are.
	Value float64
	Marks int
	// Whole: each of the sweep's repeats has a mark, or failed, and there is a mark. Else the mean
	// may change by a trial that has not reported yet.
	Whole bool
}

// Points joins the repeats of each point, which are consecutive trials, in the order of their numbers. Where
// the sweep repeats none, each trial is by itself, also where a program asked for a point again.
func (b *Book) Points(s sweep.Sweep) (out []Point) {
	for i := 0; i < len(b.Trials); {
		n := i + 1
		for s.Repeats > 1 && n < len(b.Trials) && b.Trials[n].Repeat > b.Trials[n-1].Repeat && b.Trials[n].Point == b.Trials[i].Point {
			n++
		}
		out = append(out, pointOf(s, b.Trials[i:n]))
		i = n
	}
	return out
}

func pointOf(s sweep.Sweep, trials []*Trial) Point {
	p := Point{Trials: trials}
	failed := 0
	var values []float64
	for _, t := range trials {
		if t.State == Failed {
			failed++
		} else if best, ok := t.Best(s.Metric); ok {
			values = append(values, best.Value)
		}
	}
	p.Value, p.Marks = sweep.Mean(values...), len(values)
	p.Whole = p.Marks > 0 && p.Marks+failed >= max(1, s.Repeats)
	return p
}

// Leader returns the best point: of those that are Whole, or of all while none is; false if no trial
// that did not fail has a mark. Of equal ones it is that of the lowest number.
func (b *Book) Leader(s sweep.Sweep) (best Point, ok bool) {
	if s.Repeats <= 1 {
		t, mark := b.Best(s.Metric)
		if t == nil {
			return Point{}, false
		}
		return Point{[]*Trial{t}, mark.Value, 1, true}, true
	}
	for _, p := range b.Points(s) {
		if p.Marks > 0 && (!ok || p.Whole && !best.Whole || p.Whole == best.Whole && s.Metric.Better(p.Value, best.Value)) {
			best, ok = p, true
		}
	}
	return best, ok
}

// Best returns the best trial of the point that did not fail, with its best mark; nil if none has one.
func (p Point) Best(m sweep.Metric) (best *Trial, mark Mark) {
	for _, t := range p.Trials {
		if own, ok := t.Best(m); ok && t.State != Failed && (best == nil || m.Better(own.Value, mark.Value)) {
			best, mark = t, own
		}
	}
	return best, mark
}
