package space

import "math/rand/v2"

// Draws bounds the search for a point that satisfies the constraints. It is also the cost of a
// search that fails, in points made.
const Draws = 10000

// Random draws a point that satisfies the constraints, evenly; false if Draws draws did not find
// one. Evenly is by the coordinates of At, so a logarithmic parameter is even by its logarithm;
// points that the constraints reject are drawn again (rejection sampling), which keeps the rest
// even.
func (s *Space) Random(rng *rand.Rand) (Point, bool) {
	return s.Complete(Given{}, rng)
}

// Complete draws what is not given. False if Draws draws found no point that satisfies the
// constraints; so also if what is given contradicts them. A given value of a parameter that does
// not exist at the point drawn is left out: with momentum=.9 given and opt drawn as adamw there is
// no momentum.
func (s *Space) Complete(g Given, rng *rand.Rand) (Point, bool) {
	u := make([]float64, len(s.params))
	for range Draws {
		for i := range u {
			u[i] = rng.Float64()
		}
		if p := s.place(u, g); s.Satisfies(p) {
			return p, true
		}
	}
	return Point{}, false
}

// At is the point at u of the unit cube, one coordinate for each of Parameters. It need not satisfy
// the constraints. Coordinates of parameters that do not exist there have no effect. u MUST have
// one coordinate for each parameter; those outside [0, 1] count as the nearest end.
func (s *Space) At(u []float64) Point { return s.place(u, Given{}) }

// place is the point with the given values, and at u otherwise. It goes in the order of the space,
// since whether a parameter exists depends on its parent's value.
func (s *Space) place(u []float64, g Given) Point {
	values := make([]Value, len(s.params))
	exists := make([]bool, len(s.params))
	for _, i := range s.order {
		if exists[i] = s.exists(i, values, exists); exists[i] {
			if v, given := g.values[s.params[i].Name]; given {
				values[i] = v
			} else {
				values[i] = s.params[i].From(u[i])
			}
		}
	}
	return s.collect(values, exists)
}

// exists says that parameter i exists beside these values; those of its parent MUST be set.
func (s *Space) exists(i int, values []Value, exists []bool) bool {
	parent := s.parent[i]
	return parent < 0 || exists[parent] && s.params[i].If.holds(values[parent])
}

// holds compares as values of the parent do: 1e-3 is 0.001 unless it is a choice. The value is one
// of the parent's, at a point where the parent exists.
func (c *Condition) holds(v Value) bool {
	for _, text := range c.Values {
		if w := spelled(text); w.Text == v.Text || w.IsNumber && v.IsNumber && w.Number == v.Number {
			return true
		}
	}
	return false
}

// collect makes a point of the values that exist, in the order of the parameters: the one place
// that decides the order in a point's text.
func (s *Space) collect(values []Value, exists []bool) Point {
	var p Point
	for i := range values {
		if exists[i] {
			p.settings = append(p.settings, Setting{s.params[i].Name, values[i]})
		}
	}
	return p
}

// Units is the inverse of At: coordinates, and which parameters the point has. A value that the
// space does not have any more, as after an edit of it, counts as absent. Both slices are new, with
// one element for each parameter; u is 0 where exists is false.
func (s *Space) Units(p Point) (u []float64, exists []bool) {
	u, exists = make([]float64, len(s.params)), make([]bool, len(s.params))
	for _, setting := range p.settings {
		if i, found := s.at[setting.Name]; found {
			u[i], exists[i] = s.params[i].Unit(setting.Value)
		}
	}
	return u, exists
}

// Holds says that the point is one of this space: it has exactly the parameters that exist there,
// with values that they can have, and satisfies the constraints. Unlike Units it judges the whole
// point: one that lost a parameter by an edit of the space is not of it, although the values left
// are.
func (s *Space) Holds(p Point) bool {
	values, exists := make([]Value, len(s.params)), make([]bool, len(s.params))
	for _, setting := range p.settings {
		i, found := s.at[setting.Name]
		if !found || !s.params[i].has(setting.Value) {
			return false
		}
		values[i], exists[i] = setting.Value, true
	}
	for i := range s.params {
		if exists[i] != s.exists(i, values, exists) {
			return false
		}
	}
	return s.Satisfies(p)
}
