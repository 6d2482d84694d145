package figures

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestIntervals: the geometric mean lies in its interval, which is a point where all values are equal.
func TestIntervals(t *testing.T) {
	same := geometric([]float64{math.Log(.5), math.Log(.5), math.Log(.5)})
	if math.Abs(same.value-.5) > 1e-12 || math.Abs(same.low-.5) > 1e-12 || math.Abs(same.high-.5) > 1e-12 {
		t.Errorf("%+v", same)
	}
	spread := geometric([]float64{math.Log(.25), math.Log(1), math.Log(.5), math.Log(.5)})
	if math.Abs(spread.value-.5) > 1e-12 || !(spread.low < .5 && spread.low >= .25) || !(spread.high > .5 && spread.high <= 1) {
		t.Errorf("%+v", spread)
	}
}

func TestFiguresOfSweepsWithoutData(t *testing.T) {
	for _, number := range []int{14, 15} {
		f := all[slices.IndexFunc(all, func(f figure) bool { return f.number == number })]
		if out := text(t, Options{Quick: true, Workers: 1}, f); !strings.Contains(out, "not measured") {
			t.Error(out)
		}
	}
}
