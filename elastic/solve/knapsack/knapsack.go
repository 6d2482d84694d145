package knapsack

import (
	"math"
	"slices"
)

// None is the choice of a class of which no option is taken.
const None = -1

// Option is one choice of a class.
type Option struct {
	Weight int     // from 0 to 2^31-1; an option with another weight is never taken
	Value  float64 // value gained, in Reduce cost; one that is not finite is never taken
}

// Solver solves problems one after the other in the same memory. The zero value is ready. A
// Solver is not safe for concurrent use, and the choices it returns are valid until its next
// call.
// Its memory stays as large as the largest problem needed.
type Solver struct {
	Budget int // steps Choose takes at most; 0 means the constant Budget

	total   []float64 // F of the classes so far, by weight
	before  []float64 // F without the last class
	taken   []int32   // number of classes used to reach total, by weight
	earlier []int32   // the same for before
	pick    []int32   // option taken, by class and weight
	choice  []int
	bound   float64

	chooser chooser
	rest    Classes // what Expand could not fix
	kept    []int   // places of its options in the caller's classes
	fixed   []int   // option of each class, None or open
	reduces bool    // reduce small problems too, for tests
}

// Bound returns the bound of the last answer: no choice has a larger value or, for Reduce, no
// choice of the same weight a smaller cost. If it equals the value the choice is proven
// optimal; it can differ only for Choose, and for Expand on problems too large for its table.
func (s *Solver) Bound() float64 { return s.bound }

// Reduce chooses at most one option of each class so that the total weight is exactly need or,
// if no choice gives that, exceeds it by as little as possible, and minimizes the total value,
// here a cost. It returns the index of the option taken of each class, or None, the weight and
// the cost; ok is false if all classes together cannot reach need.
//
// A need of 0 or less is 0. The table has one cell for each class and each weight up to need and the
// heaviest option, so need SHOULD be small: Reduce drops no options first.
func (s *Solver) Reduce(classes [][]Option, need int) (choice []int, weight int, cost float64, ok bool) {
	most := heaviest(classes)
	need = max(0, need)
	if most < need {
		s.bound = 0
		return nil, 0, 0, false
	}
	most = min(most, need+single(classes)) // with a larger excess an option could be dropped
	s.reset(len(classes), most)
	for k := range s.total {
		s.total[k] = math.Inf(-1)
	}
	s.total[0] = 0
	for i, options := range classes {
		s.add(i, options, -1)
	}
	for weight = need; weight <= most; weight++ {
		if !math.IsInf(s.total[weight], -1) {
			s.bound = -s.total[weight] + 0
			return s.trace(classes, weight), weight, s.bound, true
		}
	}
	s.bound = 0
	return nil, 0, 0, false
}

// reset makes room for this many classes and weights from 0 to capacity.
func (s *Solver) reset(classes, capacity int) {
	width := capacity + 1
	s.total, s.before = grow(s.total, width), grow(s.before, width)
	s.taken, s.earlier = grow(s.taken, width), grow(s.earlier, width)
	s.pick, s.choice = grow(s.pick, classes*width), grow(s.choice, classes)
	clear(s.taken)
}

// grow returns room for n; what was in the old array may be lost.
func grow[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n, n+n/4)
	}
	return old[:n]
}

// extend adds n to the length and keeps the contents.
func extend[T any](old []T, n int) []T {
	return slices.Grow(old, n)[:len(old)+n]
}

// add extends F by one class; sign -1 turns costs into values.
// Options are compared with F BEFORE the class, so that two of one class are never taken together.
func (s *Solver) add(class int, options []Option, sign float64) {
	width := len(s.total)
	s.before, s.total = s.total, s.before
	s.earlier, s.taken = s.taken, s.earlier
	total, taken, pick := s.total, s.taken, s.pick[class*width:(class+1)*width]
	copy(total, s.before)
	copy(taken, s.earlier)
	for k := range pick {
		pick[k] = None
	}
	for o, option := range options {
		w, v := option.Weight, sign*option.Value
		if w < 0 || w >= width || w > heavy || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		before, earlier := s.before[:width-w], s.earlier[:width-w]
		for j, f := range before {
			k, f, n := j+w, f+v, earlier[j]+1
			// An unreachable weight stays at -Inf, which is never larger. The case equal and
			// unreachable needs no handling, because it is never traced.
			if f > total[k] || (f == total[k] && n < taken[k]) {
				total[k], taken[k], pick[k] = f, n, int32(o)
			}
		}
	}
}

// trace returns the choices that led to the weight, last class first.
// The weight MUST be one that can be reached.
func (s *Solver) trace(classes [][]Option, weight int) []int {
	width := len(s.total)
	for i := len(classes) - 1; i >= 0; i-- {
		o := int(s.pick[i*width+weight])
		s.choice[i] = o
		if o != None {
			weight -= classes[i][o].Weight
		}
	}
	return s.choice
}

// heaviest returns the greatest weight any choice can have.
func heaviest(classes [][]Option) int {
	sum := 0
	for _, options := range classes {
		sum += weightiest(options)
	}
	return sum
}

// single returns the greatest weight of one option.
func single(classes [][]Option) int {
	most := 0
	for _, options := range classes {
		most = max(most, weightiest(options))
	}
	return most
}

// weightiest returns the weight of the heaviest option that can be taken; 0 if there is none.
func weightiest(options []Option) int {
	most := 0
	for _, o := range options {
		if o.Weight <= heavy {
			most = max(most, o.Weight)
		}
	}
	return most
}
