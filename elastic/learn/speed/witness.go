package speed

import (
	"math"
	"time"
)

// A program says how long a unit of its work takes, and how much it has done. What it
// says of the one must agree with the other, by the clock of whoever reads it.

const (
	// agrees is up to what factor a claim may differ from what the clock allows: some
	// programs do not count all the time between two units.
	agrees = 1.05
	// precise is how many times as long as the doubt about it a stretch must be before
	// an older one is forgotten for it.
	precise = 10
	// blind is the longest doubt about when a line was written: after more nothing that
	// was before is held against it.
	blind = 10 * time.Minute
	// rough is how far apart what the clock allows at least and at most may be for what
	// is between to stand for a claim that is not so. To believe nothing instead would
	// make an unknown of a long job, which would do it good.
	rough = 4
	// leap is by how much faster than ever in its run work does not get on: more of it
	// was said to be done than was.
	leap = 2
	// leastDone is the least, in units, that is taken to have been done between two
	// lines: work that does not get on is slow without end.
	leastDone = 0.01
)

// Witness holds what one run of a program says of its speed against the clock. The
// zero Witness has heard nothing; a new run needs a new one.
type Witness struct {
	old, young, last mark // where the stretches begin that a line ends
}

// mark is a line heard earlier.
type mark struct {
	early, late time.Time // when it was written, at the earliest and at the latest
	done        float64
}

// Heard takes in a line that was written between early and late, with done units of
// work finished by then, and returns the seconds of a unit that are to be believed. A
// claim that the clock bears out is left alone; for another stands what the clock says
// itself, or 0, nothing, as long as too little time has passed to tell.
func (w *Witness) Heard(claimed, done float64, early, late time.Time) float64 {
	now, last := mark{early, late, done}, w.last
	w.last = now
	if doubt := now.doubt(); doubt < 0 || doubt > blind || w.old.late.IsZero() || late.Before(last.late) {
		// The first line; or the clock was set, or nobody listened.
		w.begin(mark{late.Add(-min(max(0, doubt), blind)), late, done})
		return claimed
	}
	least, most := w.old.bounds(now)
	if _, soonest := last.bounds(now); done > last.done+leastDone && w.young != w.old && leap*soonest < least {
		w.begin(now)
		return 0
	}
	if w.young == w.old {
		w.young = now
	} else { // what a smaller leap makes too fast over one stretch the other puts right
		least2, most2 := w.young.bounds(now)
		least, most = max(least, least2), max(most, most2)
	}
	if now.doubt()+w.young.doubt() <= early.Sub(w.young.late)/precise {
		w.old, w.young = w.young, now
	}
	switch {
	case claimed >= least/agrees && claimed <= most*agrees:
		return claimed
	case most > rough*least:
		return 0
	}
	return math.Sqrt(least * most)
}

// begin forgets what was before a line.
func (w *Witness) begin(at mark) { w.old, w.young, w.last = at, at, at }

func (m mark) doubt() time.Duration { return m.late.Sub(m.early) }

// bounds are the least and the most seconds that a unit took from one line to another.
func (m mark) bounds(n mark) (least, most float64) {
	units := max(leastDone, n.done-m.done)
	return max(0, n.early.Sub(m.late).Seconds()) / units, n.late.Sub(m.early).Seconds() / units
}
