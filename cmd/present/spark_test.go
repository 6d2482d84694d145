package present

import (
	"math"
	"testing"
)

func TestSpark(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values    []float64
		low, high float64
		want      string
		ascii     string
	}{
		{[]float64{0, 1, 2, 7}, 0, 7, "▁▂▃█", "_.-@"},
		{[]float64{nan, 5, nan, 5, nan}, 5, 5, " █ █", " @ @"},
		{[]float64{-1e308, 1e308, 9, -9}, -1e308, 1e308, "▁█▅▅", "_@++"},
		{[]float64{-3, 20}, 0, 7, "▁█", "_@"},
		{nil, 0, 1, "", ""},
	} {
		if got, ascii := Spark(c.values, c.low, c.high, true), Spark(c.values, c.low, c.high, false); got != c.want || ascii != c.ascii {
			t.Errorf("%v: %q and %q, want %q and %q", c.values, got, ascii, c.want, c.ascii)
		}
	}
}
