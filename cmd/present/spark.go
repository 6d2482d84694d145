package present

import (
	"math"
	"strings"
)

// Spark draws values between low and high in one line, the larger the higher: in blocks, or in ASCII. A
// NaN is a space, and a value beyond a bound is drawn at it.
func Spark(values []float64, low, high float64, blocks bool) string {
	shades := []rune("_.-=+*#@")
	if blocks {
		shades = []rune("▁▂▃▄▅▆▇█")
	}
	var b strings.Builder
	for _, v := range values {
		if math.IsNaN(v) {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(shades[int(math.Round(Scaled(v, low, high)*float64(len(shades)-1)))])
	}
	return strings.TrimRight(b.String(), " ")
}

// Scaled is where a value that is not NaN lies between two bounds, from 0 to 1; 1 where these are the
// same.
func Scaled(v, low, high float64) float64 {
	if !(high > low) {
		return 1
	}
	return math.Min(math.Max(v/2-low/2, 0)/(high/2-low/2), 1) // halves: the difference of two values may overflow
}
