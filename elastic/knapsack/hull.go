package knapsack

import (
	"cmp"
	"math"
	"slices"
)

const (
	heavy = math.MaxInt32 // no option that weighs more is taken
	vast  = 1e290         // Choose takes none whose value is further from 0: sums stay finite
)

// usable reports whether the option can be taken at all within the capacity.
func (o Option) usable(capacity int) bool {
	return o.Weight >= 0 && o.Weight <= capacity && o.Weight <= heavy && math.Abs(o.Value) <= vast
}

// slope is the value gained per unit of weight from one option to a heavier one.
func slope(from, to Option) float64 {
	return (to.Value - from.Value) / float64(to.Weight-from.Weight)
}

// Hull appends to dst the corners of the upper concave hull of the options, by
// increasing weight: from the lightest option to the most valuable one, values
// strictly increase and slopes strictly decrease. For any price of weight that is
// not negative, one of the corners is worth most. Options that can never be taken
// (a negative weight, a value not finite or beyond ±1e290) are left out. They need
// not be sorted and are not changed; dst must not overlap options.
func Hull(dst, options []Option) []Option {
	from := len(dst)
	for _, o := range options {
		if o.usable(heavy) {
			dst = append(dst, o)
		}
	}
	own := dst[from:]
	slices.SortFunc(own, func(a, b Option) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(b.Value, a.Value))
	})
	n := 0
	for _, o := range own {
		if n > 0 && o.Value <= own[n-1].Value {
			continue
		}
		for n > 1 && slope(own[n-1], o) >= slope(own[n-2], own[n-1]) {
			n--
		}
		own[n] = o
		n++
	}
	return dst[:from+n]
}
