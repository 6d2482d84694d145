package present

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Span is terminal.Clock for seconds in the API's form, "-" if there are none.
func Span(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return terminal.Clock(AsDuration(seconds))
}

// AsDuration bounds seconds by the range of a Duration.
func AsDuration(s float64) time.Duration {
	return time.Duration(math.Min(s, 1e9) * float64(time.Second))
}

// When formats a time as Slurm does, in local time; "-" if unknown.
func When(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

// Ago formats how long before now a time was: "3s ago".
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return terminal.Clock(now.Sub(t)) + " ago"
}

// Figure formats a number with three significant digits.
func Figure(f float64) string {
	switch {
	case f >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// Amount formats done work: at most two decimals, none if whole.
func Amount(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Unit is the short name of a job's unit of work.
func Unit(j *wire.Job) string {
	if j.Unit == "step" {
		return "st"
	}
	return "ep"
}

// Work formats done and total, "3.5/10"; steps have a suffix, "120500/200000st".
func Work(j *wire.Job) string {
	s := Amount(j.Done)
	if j.Total > 0 {
		s += "/" + Amount(j.Total)
	}
	if j.Unit == "step" {
		s += "st"
	}
	return s
}

// Pace formats seconds per unit; "~" marks a value that was not measured at this size.
func Pace(seconds float64, source, unit string) string {
	if seconds <= 0 {
		return "-"
	}
	guess := "~"
	if source == "measured" || source == "" {
		guess = ""
	}
	return guess + Figure(seconds) + "s/" + unit
}

// Sizes formats the sizes that a job accepts: 1-8, 4, 2,4,8 or 2-8/2.
func Sizes(j *wire.Job) string {
	switch {
	case len(j.Sizes) > 0:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(j.Sizes), " ", ","), "[]")
	case j.Max == j.Min:
		return strconv.Itoa(j.Min)
	case j.Max == 0:
		return fmt.Sprintf("%d-", j.Min)
	case j.Step > 1:
		return fmt.Sprintf("%d-%d/%d", j.Min, j.Max, j.Step)
	}
	return fmt.Sprintf("%d-%d", j.Min, j.Max)
}

// GPUs formats present and accepted sizes: 2/1-8, during a resize 2>4/1-8, pinned 2/=2.
func GPUs(j *wire.Job) string {
	now := strconv.Itoa(j.GPUs)
	if j.Move != nil && j.Move.Target.GPUs() != j.GPUs {
		now += ">" + strconv.Itoa(j.Move.Target.GPUs())
	}
	if j.Pinned > 0 {
		return now + "/=" + strconv.Itoa(j.Pinned)
	}
	return now + "/" + Sizes(j)
}

// Bar draws a part of the whole, from 0 to 1, on that many columns: in blocks, or in ASCII.
func Bar(part float64, columns int, blocks bool) string {
	part = math.Min(math.Max(part, 0), 1)
	if math.IsNaN(part) {
		part = 0
	}
	columns = max(columns, 0)
	full := int(part * float64(columns))
	if blocks {
		return strings.Repeat("█", full) + strings.Repeat("░", columns-full)
	}
	return strings.Repeat("#", full) + strings.Repeat(".", columns-full)
}
