package sharing

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Margin is by how much more trials at once have to be faster: they take up memory, and the measurement has
// errors.
const Margin = .1

// Where trials end before they are measured, mostRounds bounds how often a number of trials is tried, and
// mostBegun with how many trials in each slot.
const (
	mostRounds = 3
	mostBegun  = 4
)

// phase is what is being measured.
type phase string

const (
	low     phase = "low"
	high    phase = "high"
	back    phase = "back"
	settled phase = "settled"
)

// Decider is the state of the search of one run of a lane. It belongs to one goroutine.
type Decider struct {
	Meter
	most   int
	least  float64 // seconds for which a trial is measured
	phase  phase
	kept   int     // trials at once that are known to pay
	speed  float64 // of these, as sweep.Tried has it
	next   int     // that is tried
	tried  []sweep.Tried
	pair   []int // the trials that ran while next was measured
	rounds int
	begun  int // trials since the phase began
	memory bool
	short  bool
}

// New returns the decider of a lane that may run up to most trials at once, 1 to sweep.MaxPerGPU. least is
// how long each is measured; 0 = 10 s.
func New(most int, least time.Duration) *Decider {
	d := &Decider{most: most, least: least.Seconds(), phase: low, kept: 1, speed: 1}
	if least == 0 {
		d.least = minTime
	}
	d.raise()
	return d
}

// raise goes on with the next number of trials, or settles.
func (d *Decider) raise() {
	d.phase, d.rounds, d.next = low, 0, min(2*d.kept, d.most)
	if d.kept >= d.most {
		d.phase = settled
	}
}

// Take takes in a line of a slot.
func (d *Decider) Take(slot int, e sweep.Event) {
	if e.Kind == sweep.Began {
		d.begun++
	}
	d.Meter.Take(slot, e)
}

// Follow takes over what another lane measured. Once settled a decider only falls.
func (d *Decider) Follow(s sweep.Sharing) {
	trials := min(s.Trials, d.most)
	if d.phase == settled && trials >= d.kept {
		return
	}
	d.kept, d.phase, d.memory, d.short, d.tried = trials, settled, s.Memory, s.Short, s.Tried
}

// OutOfMemory says that a trial ran out of memory beside others: the lane goes back to the largest number below.
func (d *Decider) OutOfMemory() {
	was := d.kept
	if d.phase == high {
		was = d.next
	}
	below := 1
	for n := 2; n < was; n = 2 * n {
		below = n
	}
	d.kept, d.memory, d.phase = min(d.kept, below), true, settled
}

// Settled reports whether the number is known; then what to write for other lanes. At, Job and GPUs are the
// caller's.
func (d *Decider) Settled() (sweep.Sharing, bool) {
	return sweep.Sharing{Version: sweep.Version, Trials: d.kept, Tried: d.tried, Memory: d.memory, Short: d.short}, d.phase == settled
}

// Target is how many trials are to run at once now. Slots whose trials are to be saved first, if there are too
// many, are listed before others.
func (d *Decider) Target() (n int, first []int) {
	d.advance()
	n = d.kept
	if d.phase == high {
		n = d.next
	}
	at := d.at()
	first = slices.Collect(maps.Keys(at))
	measured := func(slot int) bool { _, known := d.Meter.speed(at[slot], d.kept, d.least); return known }
	slices.SortFunc(first, func(a, b int) int {
		if x, y := measured(a), measured(b); d.phase == back && x != y {
			if x {
				return -1
			}
			return 1
		}
		return b - a // the first slot stays
	})
	return n, first
}

// advance goes from phase to phase as far as what was measured allows.
func (d *Decider) advance() {
	for was := phase(""); was != d.phase; {
		was = d.phase
		switch d.phase {
		case low:
			if d.any(d.kept) {
				d.phase, d.begun = high, 0
			} else if d.begun > mostBegun*d.kept {
				d.tooShort()
			}
		case high:
			d.measuredHigh()
		case back:
			d.measuredBack()
		}
	}
}

// any reports whether a trial that runs was measured beside so many others.
func (d *Decider) any(atOnce int) bool {
	for _, trial := range d.at() {
		if _, known := d.Meter.speed(trial, atOnce, d.least); known {
			return true
		}
	}
	return false
}

// measuredHigh ends the phase once all that run were measured.
func (d *Decider) measuredHigh() {
	if d.begun > mostBegun*d.next {
		d.tooShort()
		return
	}
	at := d.at()
	if len(at) < d.next {
		return
	}
	d.pair = d.pair[:0]
	for _, trial := range at {
		if _, known := d.Meter.speed(trial, d.next, d.least); !known {
			return
		}
		d.pair = append(d.pair, trial)
	}
	d.phase = back
}

// tooShort begins a round anew, or settles.
func (d *Decider) tooShort() {
	if d.phase, d.begun, d.rounds = low, 0, d.rounds+1; d.rounds >= mostRounds {
		d.phase, d.short = settled, true
	}
}

// measuredBack decides once each trial of the pair was measured at both numbers, or has ended.
func (d *Decider) measuredBack() {
	at := slices.Collect(maps.Values(d.at()))
	sum, known := 0.0, 0
	for _, trial := range d.pair {
		base, has := d.Meter.speed(trial, d.kept, d.least)
		fast, _ := d.Meter.speed(trial, d.next, d.least)
		switch {
		case has:
			sum += fast / base
			known++
		case slices.Contains(at, trial):
			return // it is being measured, or others are being saved first
		}
	}
	if known == 0 {
		d.tooShort()
		return
	}
	// Of trials that ended too early the mean of the others is taken.
	speed := d.speed * sum / float64(known) * float64(d.next) / float64(d.kept)
	d.tried = append(d.tried, sweep.Tried{Trials: d.next, Speed: speed})
	if speed <= d.speed*(1+Margin) {
		d.phase = settled
		return
	}
	d.kept, d.speed = d.next, speed
	d.raise()
}

// Trying is the number of trials at once that is being measured; 0 = the number is known.
func (d *Decider) Trying() (trials int) {
	if d.phase == settled {
		return 0
	}
	return d.next
}
