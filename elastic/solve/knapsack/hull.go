package knapsack

import "math"

const (
	heavy = math.MaxInt32 // no option of more weight is taken
	vast  = 1e290         // Choose takes no option of larger absolute value, so that sums stay finite
)

// usable reports whether the option can be taken at all within the capacity.
func (o Option) usable(capacity int) bool {
	return o.Weight >= 0 && o.Weight <= capacity && o.Weight <= heavy && math.Abs(o.Value) <= vast
}

// slope is the value gained per unit of weight from one option to a heavier one.
func slope(from, to Option) float64 {
	return (to.Value - from.Value) / float64(to.Weight-from.Weight)
}
