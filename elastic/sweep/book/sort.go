package book

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Sort returns the trials in the order in which every list of them is: the best mark first, then
// those that failed, likewise, then those without a mark; of equal ones the lowest number first. The
// slice is new.
func Sort(trials []*Trial, m sweep.Metric) []*Trial {
	type place struct {
		*Trial
		class int
		value float64
	}
	places := make([]place, len(trials))
	for i, t := range trials {
		best, has := t.Best(m)
		places[i] = place{t, 0, best.Value}
		switch {
		case !has:
			places[i].class = 2
		case t.State == Failed:
			places[i].class = 1
		}
	}
	slices.SortFunc(places, func(x, y place) int {
		switch {
		case x.class != y.class:
			return cmp.Compare(x.class, y.class)
		case m.Better(x.value, y.value):
			return -1
		case m.Better(y.value, x.value):
			return 1
		}
		return cmp.Compare(x.Number, y.Number)
	})
	out := make([]*Trial, len(trials))
	for i, p := range places {
		out[i] = p.Trial
	}
	return out
}
