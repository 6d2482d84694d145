package sharing

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Meter measures the speeds of trials in the slots of a lane, by how many ran at once. The zero value has
// measured nothing. All lines MUST be by one clock, and Take in their order for each slot.
type Meter struct {
	running map[int]*run            // by slot
	speeds  map[int]map[int]*sample // by trial, by how many ran at once
	open    bool                    // all that run have reported since the last of them began
}

// run is the trial that runs in a slot.
type run struct {
	trial    int
	reported bool // since the set of trials that run changed
	at       time.Time
	epoch    float64 // of the report at that time; the next one ends a measured interval
	measured bool    // at and epoch are of a report while open
}

// sample is what was measured of a trial beside so many others.
type sample struct {
	epochs, seconds float64
	intervals       int
}

// Take takes in a line of a slot.
func (m *Meter) Take(slot int, e sweep.Event) {
	switch e.Kind {
	case sweep.Began:
		m.change()
		m.running[slot] = &run{trial: e.Trial}
	case sweep.EndedAs:
		m.Ended(slot)
	case sweep.Reported:
		if r := m.running[slot]; r != nil && r.trial == e.Trial {
			m.report(r, e)
		}
	}
}

// Ended says that nothing runs in a slot any more, whether or not it wrote so.
func (m *Meter) Ended(slot int) {
	m.change()
	delete(m.running, slot)
}

// change begins a new interval for all that run: a trial that starts or ends takes its part of the GPU.
func (m *Meter) change() {
	if m.running == nil {
		m.running, m.speeds = map[int]*run{}, map[int]map[int]*sample{}
	}
	m.open = false
	for _, r := range m.running {
		r.reported, r.measured = false, false
	}
}

// report takes in a report. Until every trial has reported, one of them may still be loading, and the others
// are faster than they will be.
func (m *Meter) report(r *run, e sweep.Event) {
	r.reported = true
	if !m.open {
		for _, other := range m.running {
			if !other.reported {
				return
			}
		}
		m.open = true
	}
	if r.measured && e.Epoch > r.epoch && e.At.After(r.at) {
		s := m.of(r.trial, len(m.running))
		s.epochs += e.Epoch - r.epoch
		s.seconds += e.At.Sub(r.at).Seconds()
		s.intervals++
	}
	r.measured, r.at, r.epoch = true, e.At, e.Epoch
}

func (m *Meter) of(trial, atOnce int) *sample {
	if m.speeds[trial] == nil {
		m.speeds[trial] = map[int]*sample{}
	}
	if m.speeds[trial][atOnce] == nil {
		m.speeds[trial][atOnce] = &sample{}
	}
	return m.speeds[trial][atOnce]
}

// How long a trial is measured: so many intervals between reports and at least minTime, or one that is long.
const (
	minIntervals = 3
	minTime      = 10.0 // seconds
	longTime     = 120.0
)

// speed is the speed of a trial beside so many others, in epochs a second; false if it was not measured for
// long enough.
func (m *Meter) speed(trial, atOnce int, least float64) (float64, bool) {
	s := m.speeds[trial][atOnce]
	if s == nil || s.epochs <= 0 || s.seconds <= 0 {
		return 0, false
	}
	if s.seconds >= longTime || s.intervals >= minIntervals && s.seconds >= least {
		return s.epochs / s.seconds, true
	}
	return 0, false
}

// at returns the trials that run, by slot.
func (m *Meter) at() map[int]int {
	out := map[int]int{}
	for slot, r := range m.running {
		out[slot] = r.trial
	}
	return out
}
