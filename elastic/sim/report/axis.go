package report

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

const day = draw.Day

// logMark is a time that a logarithmic axis is marked with, if it lies on it.
type logMark struct {
	at   time.Duration
	text string
}

// fewMarks are for wide axes, manyMarks for those that few of them lie on.
var fewMarks, manyMarks = []logMark{
	{time.Millisecond, "1 ms"}, {10 * time.Millisecond, "10 ms"}, {100 * time.Millisecond, "0.1 s"},
	{time.Second, "1 s"}, {3 * time.Second, "3 s"}, {10 * time.Second, "10 s"}, {30 * time.Second, "30 s"},
	{time.Minute, "1 min"}, {3 * time.Minute, "3 min"}, {10 * time.Minute, "10 min"}, {30 * time.Minute, "30 min"},
	{time.Hour, "1 h"}, {3 * time.Hour, "3 h"}, {10 * time.Hour, "10 h"}, {24 * time.Hour, "1 d"}, {72 * time.Hour, "3 d"},
	{240 * time.Hour, "10 d"}, {720 * time.Hour, "30 d"}, {2400 * time.Hour, "100 d"}, {8760 * time.Hour, "1 a"}, {87600 * time.Hour, "10 a"},
}, []logMark{
	{time.Second, "1 s"}, {2 * time.Second, "2 s"}, {5 * time.Second, "5 s"}, {10 * time.Second, "10 s"}, {20 * time.Second, "20 s"},
	{30 * time.Second, "30 s"}, {time.Minute, "1 min"}, {2 * time.Minute, "2 min"}, {5 * time.Minute, "5 min"}, {10 * time.Minute, "10 min"},
	{20 * time.Minute, "20 min"}, {30 * time.Minute, "30 min"}, {45 * time.Minute, "45 min"}, {time.Hour, "1 h"}, {2 * time.Hour, "2 h"},
	{3 * time.Hour, "3 h"}, {4 * time.Hour, "4 h"}, {6 * time.Hour, "6 h"}, {8 * time.Hour, "8 h"}, {12 * time.Hour, "12 h"}, {day, "1 d"},
	{2 * day, "2 d"}, {3 * day, "3 d"}, {5 * day, "5 d"}, {10 * day, "10 d"}, {20 * day, "20 d"},
}

// logScale maps times onto 0..1, logarithmically.
type logScale struct{ low, high float64 } // natural logarithms of seconds

// logScaleOf holds all times; those below a millisecond count as one.
func logScaleOf(least, most time.Duration) logScale {
	low := math.Log(max(least, time.Millisecond).Seconds())
	high := math.Log(max(most, time.Millisecond).Seconds())
	if high-low < 0.7 { // at least a factor of two
		low, high = low-0.35, high+0.35
	}
	margin := 0.02 * (high - low)
	return logScale{low - margin, high + margin}
}

func (s logScale) at(d time.Duration) float64 {
	return (math.Log(max(d, time.Millisecond).Seconds()) - s.low) / (s.high - s.low)
}

// ticks returns the marks on the axis, about n at most; at is 0..1.
func (s logScale) ticks(n int) []draw.Tick {
	out := s.on(manyMarks)
	if len(out) < 3 || len(out) > n {
		out = s.on(fewMarks)
	}
	for len(out) > n {
		half := out[:0]
		for i := 0; i < len(out); i += 2 {
			half = append(half, out[i])
		}
		out = half
	}
	return out
}

func (s logScale) on(marks []logMark) []draw.Tick {
	var out []draw.Tick
	for _, m := range marks {
		if x := s.at(m.at); x >= 0 && x <= 1 {
			out = append(out, draw.Tick{At: x, Text: m.text})
		}
	}
	return out
}
