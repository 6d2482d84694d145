package runner

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

const (
	tellEvery = time.Second      // minimum time between two writes of progress
	backAfter = 30 * time.Second // time with lower counts only after which the program has started over
)

// tracker computes progress from lines. The time is an argument.
type tracker struct {
	unit  string
	total float64 // total work of the job; 0 = unknown

	of     float64   // the total of the present series of steps; 0 = none seen
	filled bool      // its steps have reached it
	top    float64   // most done
	lower  time.Time // since when only lower counts appear; zero = they do not

	latest   checkpoint.Progress
	fresh    bool      // latest was not reported yet
	reported float64   // done in the last report
	at       time.Time // time of the last report; zero = never
	saidAt   time.Time
}

// take adds the words of one line.
func (t *tracker) take(w words, now time.Time) {
	if !t.about(w) {
		return
	}
	done := w.epoch
	if t.unit == "step" {
		done = w.step
	}
	if done < 0 || !t.forward(done, now) {
		return
	}
	p := checkpoint.Progress{Event: "progress", Done: done, Epoch: t.latest.Epoch, Step: t.latest.Step}
	if w.epoch >= 0 {
		p.Epoch = w.epoch
	}
	if w.step >= 0 {
		p.Step = int64(w.step)
	}
	switch {
	case t.unit != "step" && w.step >= 0: // in a line that counts steps, seconds are those of a step
	case w.seconds > 0:
		p.Seconds = w.seconds
	case w.speed > 0:
		p.Seconds = 1 / w.speed
	}
	t.fresh = t.fresh || t.saidAt.IsZero() || done != t.latest.Done
	t.latest = p
}

// about reports whether a line with a total is about the job's work: programs also print
// progress bars for loading and for evaluation. If the job's total is known it decides;
// else a total counts until its steps have reached it.
func (t *tracker) about(w words) bool {
	if w.total <= 0 || w.step < 0 {
		return true
	}
	if t.total > 0 && t.unit == "step" {
		return w.total == t.total
	}
	if t.of == 0 || (t.filled && w.total > t.of) {
		if t.of != 0 {
			t.top, t.lower = 0, time.Time{} // the bar before was for something else
		}
		t.of, t.filled = w.total, false
	}
	if w.total != t.of {
		return false
	}
	t.filled = t.filled || w.step >= w.total
	return true
}

// forward reports whether a count may be used: it must not be lower than before, unless
// the program has started over from an earlier state.
func (t *tracker) forward(done float64, now time.Time) bool {
	if done >= t.top {
		t.top, t.lower = done, time.Time{}
		return true
	}
	if t.lower.IsZero() {
		t.lower = now
	}
	if now.Sub(t.lower) < backAfter {
		return false
	}
	t.top, t.lower = done, time.Time{}
	return true
}

// next returns new progress, at most once a second except at the end.
func (t *tracker) next(now time.Time, end bool) (checkpoint.Progress, bool) {
	if !t.fresh || (!end && !t.saidAt.IsZero() && now.Sub(t.saidAt) < tellEvery) {
		return checkpoint.Progress{}, false
	}
	p := t.latest
	if p.Seconds == 0 && !t.at.IsZero() && p.Done > t.reported {
		p.Seconds = now.Sub(t.at).Seconds() / (p.Done - t.reported)
	}
	t.fresh, t.saidAt = false, now
	if t.at.IsZero() || p.Done != t.reported {
		t.reported, t.at = p.Done, now
	}
	return p, true
}
