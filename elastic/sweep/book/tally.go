package book

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Failures counts the trials that failed.
func (b *Book) Failures() (n int) {
	for _, t := range b.Trials {
		if t.State == Failed {
			n++
		}
	}
	return n
}

// Best returns the trial with the best mark; nil, and the zero Mark, if all trials with a mark failed. Marks of
// running and paused trials count. Of equal ones it is that of the lowest number. For a sweep with repeats
// see Leader.
func (b *Book) Best(m sweep.Metric) (best *Trial, mark Mark) {
	for _, t := range b.Trials {
		if x, ok := t.Best(m); ok && t.State != Failed && (best == nil || m.Better(x.Value, mark.Value)) {
			best, mark = t, x
		}
	}
	return best, mark
}

// Results returns the best metrics of the trials that are done, in the order in which they ended, as
// level.Rule needs them. Of repeats it is the mean, once the point is whole and none of them goes on. The
// order goes by the lanes' clocks: a line that is read late may insert a result before others.
func (b *Book) Results(s sweep.Sweep) (out []float64) {
	type result struct {
		ended time.Time // of its last trial
		value float64
	}
	var done []result
	for _, p := range b.Points(s) {
		r, all := result{value: p.Value}, p.Whole
		for _, t := range p.Trials {
			all = all && (t.State == Done || t.State == Failed)
			if t.Ended.After(r.ended) {
				r.ended = t.Ended
			}
		}
		if all {
			done = append(done, r)
		}
	}
	slices.SortStableFunc(done, func(x, y result) int { return x.ended.Compare(y.ended) })
	for _, r := range done {
		out = append(out, r.value)
	}
	return out
}

// Seconds returns the time that the trials that are done or paused took, each from its first start
// to the end of its last run. Seconds of the clock, whatever the number of GPUs of its lanes; the
// times between two starts are in it.
func (b *Book) Seconds() (sum float64) {
	for _, t := range b.Trials {
		if (t.State == Done || t.State == Paused) && t.Ended.After(t.Begun) {
			sum += t.Ended.Sub(t.Begun).Seconds()
		}
	}
	return sum
}

// Count returns how many trials are in a state.
func (b *Book) Count(s State) (n int) {
	for _, t := range b.Trials {
		if t.State == s {
			n++
		}
	}
	return n
}
