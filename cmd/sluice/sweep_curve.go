package main

import (
	"math"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// curveColumns is the width of a small learning curve, in characters.
const curveColumns = 16

// curveSpan is the epochs and values within which small curves are drawn.
type curveSpan struct{ epochs, low, high float64 }

// spanOf holds the curves of all these trials, so that they can be compared.
func spanOf(trials []*book.Trial) curveSpan {
	s := curveSpan{low: math.Inf(1), high: math.Inf(-1)}
	for _, t := range trials {
		for _, m := range t.Curve {
			s.epochs, s.low, s.high = max(s.epochs, m.Epoch), min(s.low, m.Value), max(s.high, m.Value)
		}
	}
	return s
}

// draw draws a trial's curve in at most curveColumns characters, a column each for the same number of
// epochs: its value is the last one reported in it.
func (s curveSpan) draw(t *book.Trial, unicode bool) string {
	values := make([]float64, curveColumns)
	for i := range values {
		values[i] = math.NaN()
	}
	end := -1
	for _, m := range t.Curve {
		i := curveColumns - 1
		if s.epochs > 0 {
			i = max(min(int(math.Ceil(m.Epoch/s.epochs*curveColumns))-1, i), 0)
		}
		values[i], end = m.Value, max(end, i)
	}
	for i := 1; i <= end; i++ {
		if math.IsNaN(values[i]) {
			values[i] = values[i-1]
		}
	}
	return present.Spark(values[:end+1], s.low, s.high, unicode)
}
