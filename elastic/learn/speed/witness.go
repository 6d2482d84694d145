package speed

import (
	"math"
	"time"
)

// A program reports how long a unit of its work takes, and how much it has done. The two have
// to agree, by the clock of the process that reads them.

const (
	// agrees is the factor by which a claim may differ from what the clock allows: some
	// programs do not count all the time between two units.
	agrees = 1.05
	// precise is how many times as long as the uncertainty of its ends an interval must be
	// before an older one is dropped for it.
	precise = 10
	// blind is the longest uncertainty about when a line was written. After a longer one,
	// nothing earlier is used against a claim.
	blind = 10 * time.Minute
	// rough is the largest ratio of the most to the least time allowed by the clock for which
	// the value between them replaces a wrong claim. Using nothing instead would make a long
	// job one of unknown length, which is to its advantage.
	rough = 4
	// leap is the largest speed-up over the fastest time of the run that is accepted; beyond
	// it, more work was claimed than done.
	leap = 2
	// leastDone is the least work, in units, assumed to be done between two lines, so that a
	// job without progress does not have an infinite time per unit.
	leastDone = 0.01
	// far is the factor between a claim and the expected time beyond which the claim has to be
	// confirmed. Curves are rarely wrong by as much.
	far = 2
)

// Witness compares what one run of a program reports about its speed with the clock. The zero
// Witness is ready for the first line; each run needs a new one.
type Witness struct {
	old, young, last mark    // ends of the intervals that the next line closes
	least, most      float64 // seconds per unit that the clock allows at the last line; 0 without an interval
}

// mark is an earlier line.
type mark struct {
	early, late time.Time // earliest and latest time at which it was written
	done        float64
}

// Heard adds a line that was written between early and late, with done units of work finished
// by then, and returns the seconds per unit to use. A claim that agrees with the clock is
// returned unchanged. For another, it is the clock's own value, or 0 (none) while too little
// time has passed to decide.
func (w *Witness) Heard(claimed, done float64, early, late time.Time) float64 {
	now, last := mark{early, late, done}, w.last
	w.last, w.least, w.most = now, 0, 0
	if doubt := now.doubt(); doubt < 0 || doubt > blind || w.old.late.IsZero() || late.Before(last.late) {
		// The first line; or the clock was set, or lines were not read for long.
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
	} else { // what a smaller leap makes too fast over one interval the other corrects
		least2, most2 := w.young.bounds(now)
		least, most = max(least, least2), max(most, most2)
	}
	if now.doubt()+w.young.doubt() <= early.Sub(w.young.late)/precise {
		w.old, w.young = w.young, now
	}
	w.least, w.most = least, most
	switch {
	case claimed >= least/agrees && claimed <= most*agrees:
		return claimed
	case most > rough*least:
		return 0
	}
	return math.Sqrt(least * most)
}

// Undecided reports whether a claim that Heard has just accepted MUST NOT be used yet: the clock
// confirms nothing, since it still allows times that differ by more than rough; the claim differs
// by more than far from expected; and the middle of what the clock allows is nearer to expected. A
// later line of the run decides. expected returns the seconds per unit that the job's earlier
// samples lead to expect, 0 if there are none; it is called only if the clock confirms nothing.
func (w *Witness) Undecided(claimed float64, expected func() float64) bool {
	if w.most <= rough*w.least {
		return false
	}
	want := expected()
	if want <= 0 || max(claimed, want) <= far*min(claimed, want) {
		return false
	}
	middle := (w.least + w.most) / 2
	return math.Abs(want-middle) < math.Abs(claimed-middle)
}

// begin drops everything before a line.
func (w *Witness) begin(at mark) { w.old, w.young, w.last = at, at, at }

func (m mark) doubt() time.Duration { return m.late.Sub(m.early) }

// bounds returns the least and the most seconds per unit between two lines.
func (m mark) bounds(n mark) (least, most float64) {
	units := max(leastDone, n.done-m.done)
	return max(0, n.early.Sub(m.late).Seconds()) / units, n.late.Sub(m.early).Seconds() / units
}
