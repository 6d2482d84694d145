package say

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// moment returns a time as Slurm writes it.
func (s speaker) moment(t time.Time) string {
	return t.In(s.now.Location()).Format("2006-01-02T15:04:05")
}

// clock returns a time of day.
func (s speaker) clock(t time.Time) string { return t.In(s.now.Location()).Format(time.TimeOnly) }

// hms returns a time of day, with its date if that is another day.
func (s speaker) hms(t time.Time) string {
	if t.Sub(s.now).Abs() < 12*time.Hour {
		return s.clock(t)
	}
	return s.moment(t)
}

// hour returns a time of the next day without its date and seconds.
func (s speaker) hour(t time.Time) string {
	if t.Sub(s.now) < 24*time.Hour {
		return t.In(s.now.Location()).Format("15:04")
	}
	return s.moment(t)
}

// length returns a job's seconds as a duration; those based on an assumed speed are marked.
func length(seconds float64, assumed bool) string {
	if assumed {
		return "about " + span(seconds) + " (assumed)"
	}
	return span(seconds)
}

func span(seconds float64) string {
	switch {
	case seconds < 10 && seconds != math.Trunc(seconds):
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 10000:
		return fmt.Sprintf("%.0f s", seconds)
	}
	whole := (time.Duration(min(seconds, 1e9)) * time.Second).Round(time.Minute)
	return strings.TrimSuffix(whole.String(), "0s")
}

// limit returns a time limit: "36 h", "90 min".
func limit(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

func gpus(n int) string { return number(n, "GPU", "GPUs") }

func number(n int, single, many string) string { return fmt.Sprintf("%d %s", n, one(n, single, many)) }

// one returns the singular for 1, else the plural.
func one(n int, single, many string) string {
	if n == 1 {
		return single
	}
	return many
}

func areIdle(n int) string {
	if n == 0 {
		return "none is idle"
	}
	return number(n, "is idle", "are idle")
}

func wereIdle(n int) string { return number(n, "GPU was idle", "GPUs were idle") }

func ordinary(is bool) string {
	if is {
		return "ordinary "
	}
	return ""
}

func change(from, to int) string {
	if to < from {
		return fmt.Sprintf("shrinks %d -> %d", from, to)
	}
	return fmt.Sprintf("grows %d -> %d", from, to)
}

func ordinal(n int) string {
	if n%100/10 != 1 && n%10 > 0 && n%10 < 4 {
		return fmt.Sprintf("%d%s", n, []string{"st", "nd", "rd"}[n%10-1])
	}
	return fmt.Sprintf("%dth", n)
}

// qos names a QOS; "" is the job's own, whose name is not known.
func qos(name string) string {
	if name == "" {
		return "its QOS"
	}
	return "QOS " + name
}
