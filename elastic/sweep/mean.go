package sweep

import "math"

// Mean is the mean of values, which are finite; 0 of none. It is finite, too, also where their sum is not.
func Mean(values ...float64) (mean float64) {
	for _, x := range values {
		mean += x
	}
	if mean /= float64(max(1, len(values))); !math.IsInf(mean, 0) && !math.IsNaN(mean) {
		return mean
	}
	mean = 0
	for i, x := range values {
		n := float64(i + 1)
		mean += x/n - mean/n
	}
	return mean
}
