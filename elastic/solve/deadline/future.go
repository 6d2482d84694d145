package deadline

import (
	"math"
	"slices"
)

// future is the number of GPUs without an admitted job over time: free[i] from at[i] to
// at[i+1].
// at has one entry more than free. A number below 0 says that more is held than there is.
type future struct {
	at   []float64
	free []int
}

// stretches is how many intervals of each length there are: twice as many of one round, then
// this many of each next length, which is double the one before.
const stretches = 16

// newFuture returns an empty cluster up to the horizon, divided at the times of decisions:
// first at every round, then at growing intervals. The points of division do not depend on when
// the future is made, except that near ones are more dense; so a plan that was possible stays
// possible.
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

// until returns the intervals that begin before t.
func (f *future) until(t float64) int {
	n, _ := slices.BinarySearch(f.at, t)
	return min(n, len(f.free))
}

// take reserves n GPUs from now until then, and returns them if n is negative.
func (f *future) take(n int, then float64) {
	for i := range f.until(then) {
		f.free[i] -= n
	}
}

// after returns the future as the next decision will find it.
func (f *future) after() *future {
	next := &future{make([]float64, len(f.at)-1), slices.Clone(f.free[1:])}
	for i, t := range f.at[1:] {
		next.at[i] = t - f.at[1]
	}
	return next
}

// clone shares at, which never changes.
func (f *future) clone() *future { return &future{f.at, slices.Clone(f.free)} }
