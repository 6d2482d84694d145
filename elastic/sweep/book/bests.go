package book

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Bests returns the best result so far over time, oldest first: each better than the one before, the last one
// that of Result. There are at most most: of results that came close together the best is in it. With
// repeats a result is the mean of a point, from when each of its repeats has reported; the trial is then the best of
// them. As long as no point is Whole there is one, that of Result. Marks of failed trials, and marks whose time is
// not known, do not count.
func (b *Book) Bests(s sweep.Sweep, most int) []Best {
	if most < 1 {
		return nil
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	b.dated(s, func(r Best) { first, last = min(first, r.At.UnixMilli()), max(last, r.At.UnixMilli()) })
	if first > last {
		if r := b.Result(s); r != nil && !r.At.IsZero() {
			return []Best{*r}
		}
		return nil
	}
	slots := make([]Best, most) // parts of the time, as long as each other
	width := float64(last-first)/float64(most) + 1
	b.dated(s, func(r Best) {
		slot := &slots[min(most-1, int(float64(r.At.UnixMilli()-first)/width))]
		if slot.Trial == 0 || s.Metric.Better(r.Value, slot.Value) || r.Value == slot.Value && r.At.Before(slot.At) {
			*slot = r
		}
	})
	var out []Best
	for _, r := range slots {
		if r.Trial != 0 && (len(out) == 0 || s.Metric.Better(r.Value, out[len(out)-1].Value)) {
			out = append(out, r)
		}
	}
	return out
}

// dated passes all results that count and whose time is known, in any order.
func (b *Book) dated(s sweep.Sweep, each func(Best)) {
	if s.Repeats > 1 {
		for _, p := range b.Points(s) {
			p.dated(s.Metric, each)
		}
		return
	}
	for _, t := range b.Trials {
		if t.State == Failed {
			continue
		}
		for _, mark := range t.Curve {
			if mark.At != 0 {
				each(Best{At: time.UnixMilli(mark.At), Trial: t.Number, Mark: mark})
			}
		}
	}
}

// dated passes the means of a point as its repeats became better, once each has reported.
func (p Point) dated(m sweep.Metric, each func(Best)) {
	if !p.Whole {
		return
	}
	var better []Best // of each repeat: its marks that were better than all before
	for _, t := range p.Trials {
		if t.State != Failed {
			better = append(better, t.bests(m)...)
		}
	}
	slices.SortStableFunc(better, func(x, y Best) int { return cmp.Compare(x.Mark.At, y.Mark.At) })
	now := map[int]Mark{} // the best mark of each repeat until then, by the trial's number
	for _, r := range better {
		now[r.Trial] = r.Mark
		if len(now) < p.Marks || r.Mark.At == 0 {
			continue
		}
		var best Best
		values := make([]float64, 0, p.Marks)
		for _, t := range p.Trials {
			if mark, has := now[t.Number]; has {
				values = append(values, mark.Value)
				if best.Trial == 0 || m.Better(mark.Value, best.Value) {
					best = Best{Trial: t.Number, Mark: mark}
				}
			}
		}
		best.At, best.Value = r.At, sweep.Mean(values...)
		each(best)
	}
}

// bests are the marks of a trial that were better than all before, in the order of time. One whose time is not
// known counts as the first.
func (t *Trial) bests(m sweep.Metric) (out []Best) {
	byTime := func(x, y Mark) int { return cmp.Compare(x.At, y.At) }
	curve := t.Curve
	if !slices.IsSortedFunc(curve, byTime) { // a start went on from an earlier epoch
		curve = slices.Clone(curve)
		slices.SortStableFunc(curve, byTime)
	}
	for _, mark := range curve {
		if len(out) == 0 || m.Better(mark.Value, out[len(out)-1].Value) {
			out = append(out, Best{At: time.UnixMilli(mark.At), Trial: t.Number, Mark: mark})
		}
	}
	return out
}
