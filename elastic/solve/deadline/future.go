package deadline

import (
	"math"
	"slices"
)

// future is how many GPUs nobody was promised, over time: free[i] from at[i] to
// at[i+1].
type future struct {
	at   []float64
	free []int
}

// stretches is how many of each length there are: of one round twice as many, and of
// each next length, double the one before, so many.
const stretches = 16

// newFuture is an empty cluster up to the horizon, cut where decisions will be made:
// at every round first, then ever more seldom. The cuts lie at the same times whenever
// they are made, but for more of them in what has come near, so that a plan that was
// possible stays so.
func newFuture(gpus int, now, round, horizon float64) *future {
	f := &future{at: []float64{0}}
	count := 2 * stretches
	for length, t := round, now; t-now < horizon; {
		if count == 0 && math.Mod(t, 2*length) == 0 {
			length, count = 2*length, stretches
		}
		cut := math.Floor(t/length)*length + length
		if len(f.at) == 1 && cut-now < round/2 {
			cut += round
		}
		t, count = cut, max(0, count-1)
		f.at = append(f.at, t-now)
	}
	f.free = slices.Repeat([]int{gpus}, len(f.at)-1)
	return f
}

// until returns the stretches that begin before t.
func (f *future) until(t float64) int {
	n, _ := slices.BinarySearch(f.at, t)
	return min(n, len(f.free))
}

// take gives n GPUs away from now until then, and back where n is negative.
func (f *future) take(n int, then float64) {
	for i := range f.until(then) {
		f.free[i] -= n
	}
}

// after is the future as the next decision will find it.
func (f *future) after() *future {
	next := &future{make([]float64, len(f.at)-1), slices.Clone(f.free[1:])}
	for i, t := range f.at[1:] {
		next.at[i] = t - f.at[1]
	}
	return next
}

func (f *future) clone() *future { return &future{f.at, slices.Clone(f.free)} }
