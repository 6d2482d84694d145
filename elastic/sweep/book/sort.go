package book

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Sort returns all trials in the order in which every list of them is: the best mark first, then
// those that failed, likewise, then those without a mark; of equal ones the lowest number first.
// Repeats stand together, at the place of their mean (Point). The slice is new.
func (b *Book) Sort(s sweep.Sweep) []*Trial {
	type place struct {
		Point
		class int
	}
	points := b.Points(s)
	places := make([]place, len(points))
	for i, p := range points {
		places[i] = place{p, 2}
		switch best, has := p.Trials[0].Best(s.Metric); {
		case p.Whole:
			places[i].class = 0
		case p.Marks > 0:
			places[i].class = 1
		case has: // and it failed
			places[i].class, places[i].Value = 1, best.Value
		}
	}
	slices.SortFunc(places, func(x, y place) int {
		switch {
		case x.class != y.class:
			return cmp.Compare(x.class, y.class)
		case s.Metric.Better(x.Value, y.Value):
			return -1
		case s.Metric.Better(y.Value, x.Value):
			return 1
		}
		return cmp.Compare(x.Trials[0].Number, y.Trials[0].Number)
	})
	out := make([]*Trial, 0, len(b.Trials))
	for _, p := range places {
		out = append(out, p.Trials...)
	}
	return out
}
