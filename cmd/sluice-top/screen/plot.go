package screen

import (
	"math"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// step is a value from a time on.
type step struct {
	at    time.Time
	value float64
}

// stepsOf are the best results of a sweep whose times are known, oldest first.
func stepsOf(bests []wire.SweepBest) (out []step) {
	for _, b := range bests {
		if !b.At.IsZero() && !math.IsNaN(b.Value) && !math.IsInf(b.Value, 0) {
			out = append(out, step{b.At, b.Value})
		}
	}
	return out
}

// sampled are the values at so many moments, evenly from one time to the other; NaN before the first
// step.
func sampled(all []step, from, to time.Time, n int) []float64 {
	out := make([]float64, max(n, 0))
	k := -1
	for i := range out {
		at := from.Add(time.Duration(float64(to.Sub(from)) * float64(i+1) / float64(n)))
		for k+1 < len(all) && !all[k+1].at.After(at) {
			k++
		}
		if out[i] = math.NaN(); k >= 0 {
			out[i] = all[k].value
		}
	}
	return out
}

// extent is the least and the greatest value; false if there is none.
func extent(values []float64) (low, high float64, is bool) {
	for _, v := range values {
		switch {
		case math.IsNaN(v):
		case !is:
			low, high, is = v, v, true
		default:
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high, is
}

// plot draws values as lines of so many columns and rows, the highest first: in braille two dots wide
// and four high for each character, else one star. values has perCell(unicode) values for each column.
func plot(values []float64, columns, rows int, unicode bool) []string {
	wide, high := perCell(unicode), 1
	if unicode {
		high = 4
	}
	cells := make([][]rune, rows)
	for r := range cells {
		cells[r] = []rune(strings.Repeat(" ", columns))
	}
	low, top, _ := extent(values)
	last := -1
	for x := 0; x < min(len(values), columns*wide); x++ {
		if math.IsNaN(values[x]) {
			last = -1
			continue
		}
		y := int(math.Round((1 - present.Scaled(values[x], low, top)) * float64(rows*high-1)))
		from, to := y, y
		if last >= 0 { // a step is joined to the one before
			from, to = min(y, last), max(y, last)
		}
		for d := from; d <= to; d++ {
			c := &cells[d/high][x/wide]
			if !unicode {
				*c = '*'
				continue
			}
			if *c == ' ' {
				*c = 0x2800
			}
			*c |= brailleDots[d%4][x%2]
		}
		last = y
	}
	out := make([]string, rows)
	for r, c := range cells {
		out[r] = strings.TrimRight(string(c), " ")
	}
	return out
}

// brailleDots are the bits of a braille character's dots, by row and column.
var brailleDots = [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// perCell is how many values plot draws in one column.
func perCell(unicode bool) int {
	if unicode {
		return 2
	}
	return 1
}
