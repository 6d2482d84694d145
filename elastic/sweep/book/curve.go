package book

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Mark is one point of a learning curve. Epoch is at least 0 and may be a fraction; Value is
// finite, in the metric's unit.
type Mark struct {
	Epoch, Value float64
	Others       map[string]float64
	Start        int   // the start that reported it
	At           int64 // Unix time in ms, by the lane's clock; 0 = not known
}

// Bounds of the marks that are kept: a user can write any number of lines. A lane writes at most 10,000
// in a start of a trial.
const (
	maxMarks    = 20_000    // of a trial
	maxAllMarks = 2_000_000 // of all
)

// Full reports whether the book takes in no further epochs of any trial. Nothing can be concluded from it then.
func (b *Book) Full() bool { return b.marks >= maxAllMarks }

// Best returns the best mark of the trial; false if there is none. Of equal marks it is the
// earliest.
func (t *Trial) Best(m sweep.Metric) (best Mark, ok bool) {
	for _, mark := range t.Curve {
		if !ok || m.Better(mark.Value, best.Value) {
			best, ok = mark, true
		}
	}
	return best, ok
}

// Last returns the last mark of the trial; false if there is none.
func (t *Trial) Last() (Mark, bool) {
	if len(t.Curve) == 0 {
		return Mark{}, false
	}
	return t.Curve[len(t.Curve)-1], true
}

// mark adds a point. Of one epoch the latest start counts: it went on from a checkpoint before it.
// Beyond the bounds it adds nothing.
func (b *Book) mark(t *Trial, m Mark) {
	i, found := slices.BinarySearchFunc(t.Curve, m.Epoch, func(x Mark, epoch float64) int { return cmp.Compare(x.Epoch, epoch) })
	switch {
	case found && t.Curve[i].Start <= m.Start:
		t.Curve[i] = m
	case !found && len(t.Curve) < maxMarks && b.marks < maxAllMarks:
		b.marks++
		t.Curve = slices.Insert(t.Curve, i, m)
	}
}
