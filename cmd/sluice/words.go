package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// span is clock for seconds in the API's form, "-" if there are none.
func span(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return terminal.Clock(asDuration(seconds))
}

// asDuration bounds seconds by the range of a Duration.
func asDuration(s float64) time.Duration {
	return time.Duration(math.Min(s, 1e9) * float64(time.Second))
}

// when formats a time as Slurm does, in local time; "-" if unknown.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

// ago formats how long before now a time was: "3s ago".
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return terminal.Clock(now.Sub(t)) + " ago"
}

// figure formats a number with three significant digits.
func figure(f float64) string {
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

// amount formats done work: at most two decimals, none if whole.
func amount(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// unit is the short name of a job's unit of work.
func unit(j *wire.Job) string {
	if j.Unit == "step" {
		return "st"
	}
	return "ep"
}

// work formats done and total, "3.5/10"; steps have a suffix, "120500/200000st".
func work(j *wire.Job) string {
	s := amount(j.Done)
	if j.Total > 0 {
		s += "/" + amount(j.Total)
	}
	if j.Unit == "step" {
		s += "st"
	}
	return s
}

// pace formats seconds per unit; "~" marks a value that was not measured at this size.
func pace(seconds float64, source, unit string) string {
	if seconds <= 0 {
		return "-"
	}
	guess := "~"
	if source == "measured" || source == "" {
		guess = ""
	}
	return guess + figure(seconds) + "s/" + unit
}

// sizes formats the sizes that a job accepts: 1-8, 4, 2,4,8 or 2-8/2.
func sizes(j *wire.Job) string {
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

// gpus formats present and accepted sizes: 2/1-8, during a resize 2>4/1-8, pinned 2/=2.
func gpus(j *wire.Job) string {
	now := strconv.Itoa(j.GPUs)
	if j.Move != nil && j.Move.Target.GPUs() != j.GPUs {
		now += ">" + strconv.Itoa(j.Move.Target.GPUs())
	}
	if j.Pinned > 0 {
		return now + "/=" + strconv.Itoa(j.Pinned)
	}
	return now + "/" + sizes(j)
}
