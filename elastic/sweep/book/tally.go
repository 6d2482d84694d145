package book

import (
	"slices"

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

// Best returns the trial with the best mark; nil if no trial that did not fail has a mark. Marks of running and
// paused trials count. mark is the zero Mark where best is nil. Of
// equal ones it is that of the lowest number. What a point with repeats is worth says Leader.
func (b *Book) Best(m sweep.Metric) (best *Trial, mark Mark) {
	for _, t := range b.Trials {
		if x, ok := t.Best(m); ok && t.State != Failed && (best == nil || m.Better(x.Value, mark.Value)) {
			best, mark = t, x
		}
	}
	return best, mark
}

// Results returns the best metrics of the trials that are done, in the order in which they ended.
// Their order is what level.Rule needs. It goes by the lanes' clocks: a line that is read late may
// insert a result before others.
func (b *Book) Results(m sweep.Metric) (out []float64) {
	var done []*Trial
	for _, t := range b.Trials {
		if _, ok := t.Best(m); ok && t.State == Done {
			done = append(done, t)
		}
	}
	slices.SortStableFunc(done, func(x, y *Trial) int { return x.Ended.Compare(y.Ended) })
	for _, t := range done {
		best, _ := t.Best(m)
		out = append(out, best.Value)
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
