package draw

import (
	"fmt"
	"math"
	"time"
)

// Tick is one mark of an axis.
type Tick struct {
	At   float64 // in the axis' own measure
	Text string
}

// steps are what time axes count in.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// TimeTicks marks the time to end in at most n steps; at is in seconds.
func TimeTicks(end time.Duration, n int) []Tick {
	step := NiceStep(end, n)
	var out []Tick
	for t := time.Duration(0); t <= end; t += step {
		out = append(out, Tick{t.Seconds(), tickTime(t, step)})
	}
	return out
}

const Day = 24 * time.Hour

// NiceStep is a step that divides the time to end into n parts at most; beyond
// three days it is whole days.
func NiceStep(end time.Duration, n int) time.Duration {
	for _, s := range steps {
		if int(end/s) <= n && end <= 3*Day {
			return s
		}
	}
	return max(1, time.Duration(Nice(end.Hours()/24/float64(n)))) * Day
}

// Nice is the least of 1, 2 and 5 times a power of ten that is no less than f.
func Nice(f float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(f)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= f*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// tickTime writes a time in the unit its axis counts in.
func tickTime(t, step time.Duration) string {
	switch {
	case t == 0:
		return "0"
	case step >= Day:
		return fmt.Sprintf("%d d", t/Day)
	case step >= time.Hour || t%time.Hour == 0:
		return fmt.Sprintf("%d h", t/time.Hour)
	case step >= time.Minute && t < time.Hour:
		return fmt.Sprintf("%d min", t/time.Minute)
	case step >= time.Minute:
		return fmt.Sprintf("%d:%02d h", t/time.Hour, t/time.Minute%60)
	case t%time.Minute == 0:
		return fmt.Sprintf("%d min", t/time.Minute)
	}
	return fmt.Sprintf("%d:%02d min", t/time.Minute, t/time.Second%60)
}

// CountTicks marks an amount from 0 to most in at most n steps of whole numbers.
func CountTicks(most float64, n int) []Tick {
	step := max(1, Nice(most/float64(n)))
	for _, less := range []float64{2, 2.5, 2} { // at least one mark above 0
		if step > most && step > 1 {
			step = max(1, math.Floor(step/less))
		}
	}
	var out []Tick
	for v := 0.0; v <= most*(1+1e-9); v += step {
		out = append(out, Tick{v, Grouped(int(v))})
	}
	return out
}
