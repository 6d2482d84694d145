package runner

import (
	"fmt"
	"math"
	"time"
)

// Bounds of chosen checkpoint intervals.
const (
	shortest = time.Minute
	longest  = time.Hour
	// mostBlocked is the maximum share of time that saving may take.
	mostBlocked = 0.01
)

// Interval is the time between two checkpoints that loses the least time to saving and to
// failures together. save is how long one save blocks the program; mtbf is the mean time
// between failures of the whole job: a node's, divided by the number of nodes.
//
// It is the higher-order estimate of J. T. Daly, "A higher order estimate of the optimum
// checkpoint interval for restart dumps", FGCS 22 (2006), equation 37, whose first
// term is J. W. Young's sqrt(2*save*mtbf) (CACM 17, 1974). The result is from 1 minute to
// 1 hour, but at least 99 times save: saving never takes more than 1 % of the time.
func Interval(save, mtbf time.Duration) time.Duration {
	if save <= 0 {
		save = time.Millisecond
	}
	d, m := save.Seconds(), mtbf.Seconds()
	best := m
	if d < 2*m {
		x := d / (2 * m)
		best = math.Sqrt(2*d*m)*(1+math.Sqrt(x)/3+x/9) - d
	}
	least := d * (1 - mostBlocked) / mostBlocked
	best = max(min(max(best, shortest.Seconds()), longest.Seconds()), least)
	return time.Duration(min(best, mostSeconds) * float64(time.Second))
}

// mostSeconds keeps intervals within what a Duration holds.
const mostSeconds = 1e9

// Every is how often a program is asked for a periodic checkpoint. The zero value is
// never.
type Every struct {
	Auto bool          // chosen by Interval
	Time time.Duration // else; 0 = never
}

// String is the form that Set reads: auto, off or a duration.
func (e Every) String() string {
	switch {
	case e.Auto:
		return "auto"
	case e.Time > 0:
		return e.Time.String()
	}
	return "off"
}

// Set parses a value of the command line.
func (e *Every) Set(text string) error {
	switch text {
	case "auto":
		*e = Every{Auto: true}
		return nil
	case "off", "0":
		*e = Every{}
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("want auto, off or a duration such as 10m")
	}
	*e = Every{Time: d}
	return nil
}

// Type is the name of the value in the help.
func (e *Every) Type() string { return "auto|off|TIME" }

func (e Every) off() bool { return !e.Auto && e.Time <= 0 }
