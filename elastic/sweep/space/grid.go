package space

import (
	"math"
	"math/rand/v2"
)

// MaxGrid is the largest grid that is searched. A sweep has far fewer trials; the bound keeps one
// suggestion, which lists the grid, short.
const MaxGrid = 100000

// Grid lists the points of a grid that satisfy the constraints, each once, the last parameter
// first. A parameter with at most `levels` values has all of them, and so have choices and floats
// with steps, whose user listed the values; any other has `levels` values spread evenly over its
// range, ends included. levels below 1 counts as 1, which is the middle of a range. The error is an
// *Error about the parameter with the most values if there are more than MaxGrid.
//
//	--param lr=log:1e-4:1e-1 --param opt=choice:sgd,adamw, levels 4:
//	lr 0.0001 sgd, 0.0001 adamw, 0.001 sgd, ..., 0.1 adamw: 8 points
//
// The grid is made as a whole, of at most MaxGrid points; the size counts them before constraints
// and conditions, which may leave none. Then the list is empty, without an error.
func (s *Space) Grid(levels int) ([]Point, error) {
	levels = max(levels, 1)
	counts := make([]int, len(s.params))
	size, largest := 1., 0
	for i, p := range s.params {
		// Bounded before the conversion: Count may be +Inf.
		counts[i] = int(min(p.Count(), float64(levels)))
		if !p.Numeric() || p.Step > 0 && p.Kind == Float {
			counts[i] = int(min(p.Count(), MaxGrid+1))
		}
		if size *= float64(counts[i]); counts[i] > counts[largest] {
			largest = i
		}
	}
	if size > MaxGrid {
		p := s.params[largest]
		return nil, wrong(0, TooLarge, "the grid has %.3g points, and at most %d are searched; %s alone has %d values: give fewer steps, or search by random or tpe", size, MaxGrid, p.Name, counts[largest]).within(Param, largest, p.String())
	}
	var points []Point
	seen := map[string]bool{}
	index := make([]int, len(s.params))
	for range int(size) {
		p := s.node(index, counts)
		if text := p.String(); !seen[text] && s.Satisfies(p) {
			seen[text] = true // a parameter that does not exist multiplies nothing
			points = append(points, p)
		}
		// Counts up, the last parameter fastest.
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < counts[i] {
				break
			}
			index[i] = 0
		}
	}
	return points, nil
}

// node is the point of the grid at which parameter i has value index[i] of its counts[i].
func (s *Space) node(index, counts []int) Point {
	values := make([]Value, len(s.params))
	exists := make([]bool, len(s.params))
	for _, i := range s.order {
		if exists[i] = s.exists(i, values, exists); !exists[i] {
			continue
		}
		p, n := s.params[i], counts[i]
		switch all := p.Count(); {
		case float64(n) == all:
			values[i] = p.Nth(float64(index[i]))
		case n == 1:
			values[i] = p.From(.5)
		case p.Step > 0 && p.Kind != LogInt:
			values[i] = p.Nth(math.Round(float64(index[i]) / float64(n-1) * (all - 1)))
		default:
			values[i] = p.From(float64(index[i]) / float64(n-1))
		}
	}
	return s.collect(values, exists)
}

// satisfiable refuses constraints that reject every point of a small grid and of Draws draws. The
// seed is fixed, so a text is accepted always or never. A space of more than MaxGrid points of
// which the constraints leave about one in Draws, or fewer, may be refused although it has points:
// Random, and with it every search, would not find them either. The error is about the last
// constraint, since any of them may be at fault.
func (s *Space) satisfiable(wheres []string) error {
	if len(s.where) == 0 {
		return nil
	}
	if _, found := s.Random(rand.New(rand.NewPCG(1, 1))); found {
		return nil
	}
	if s.Size() <= MaxGrid {
		if points, err := s.Grid(MaxGrid); err == nil && len(points) > 0 {
			return nil
		}
	}
	return wrong(0, Unsatisfied, "none of %d points drawn from the space satisfies all of --where; widen a range, or leave a constraint out", Draws).within(Where, len(wheres)-1, wheres[len(wheres)-1])
}
