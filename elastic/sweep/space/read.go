package space

import "math/rand/v2"

// Read reads everything that a user says about a space: Parse and, for each of tries, Given. A try
// that no point of the space can have is refused, too. The error is an *Error with the option and
// the index of the text.
func Read(params, wheres, tries []string) (*Space, []Given, error) {
	s, err := Parse(params, wheres)
	if err != nil {
		return nil, nil, err
	}
	var list []Given
	for i, text := range tries {
		g, f := s.given(text)
		if f == nil {
			if _, found := s.Complete(g, rand.New(rand.NewPCG(1, uint64(i)))); !found {
				f = wrong(0, Unsatisfied, "none of %d points with these values satisfies all of --where; leave a value or a constraint out", Draws)
			}
		}
		if f != nil {
			return nil, nil, f.within(Try, i, text)
		}
		list = append(list, g)
	}
	return s, list, nil
}

// Varied is how many parameters have more than one value.
func (s *Space) Varied() (n int) {
	for _, p := range s.params {
		if p.Count() > 1 {
			n++
		}
	}
	return n
}

// Levels is how many values of a range without steps a grid has.
const Levels = 5
