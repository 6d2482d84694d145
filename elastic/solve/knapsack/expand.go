package knapsack

const (
	small = 1 << 18 // cells of a table that is too small to be worth reducing
	large = 1 << 26 // cells of the largest table: some 300 MB
)

// Expand chooses at most one option of each class with a total weight of at most capacity and
// maximizes the total value. It returns the index of the option taken of each class, or None,
// and the total value, which is never below 0.
//
// Large problems are first reduced to the options that some optimal choice can contain, as
// Choose finds them; with values whose sums are exact this changes nothing. If even the rest is
// too large for a table, ties are decided as in Choose, and Bound says whether the choice is
// proven optimal.
func (s *Solver) Expand(classes [][]Option, capacity int) (choice []int, value float64) {
	capacity = max(0, min(capacity, heaviest(classes)))
	if fits(len(classes), capacity, s.small()) {
		return s.expand(classes, capacity)
	}
	r := s.solve(classes, capacity, true)
	if r.proven() {
		room := s.survive(classes, capacity)
		rest := s.rest.All()
		if room = min(room, heaviest(rest)); fits(len(rest), room, large) {
			return s.complete(classes, rest, room)
		}
	} else if fits(len(classes), capacity, large) {
		return s.expand(classes, capacity)
	}
	a := s.answer(r)
	return a.Choice, a.Value
}

// small returns the size of the tables that are filled without reduction.
func (s *Solver) small() int {
	if s.reduces {
		return 0
	}
	return small
}

// fits reports whether the table has at most so many cells.
func fits(classes, capacity, cells int) bool {
	return capacity < cells && classes <= cells/(capacity+1)
}

// expand fills the table for the whole problem.
// It costs the options of all classes times the capacity.
func (s *Solver) expand(classes [][]Option, capacity int) (choice []int, value float64) {
	s.reset(len(classes), capacity)
	clear(s.total) // any weight up to k may be left unused
	for i, options := range classes {
		s.add(i, options, +1)
	}
	s.bound = s.total[capacity]
	return s.trace(classes, capacity), s.total[capacity]
}

// survive splits the classes by what optimal choices can contain: an option, or none, that
// loses more than the best choice does is in none of them. If one survives it is fixed. The
// other classes go to rest, with weights counted from the lightest survivor; kept has their
// places in the caller's classes. It returns the capacity for them.
func (s *Solver) survive(classes [][]Option, capacity int) (room int) {
	s.rest.Reset()
	s.fixed, s.kept = grow(s.fixed, len(classes)), s.kept[:0]
	room = capacity
	for i, options := range classes {
		none := s.chooser.survives(i, Option{})
		first, lightest := len(s.kept), capacity
		for k, o := range options {
			if o.Value > 0 && o.usable(capacity) && s.chooser.survives(i, o) {
				s.kept, lightest = append(s.kept, k), min(lightest, o.Weight)
			}
		}
		own := s.kept[first:]
		switch {
		case len(own) == 0:
			s.fixed[i] = None
			continue
		case none:
			lightest = 0
		case len(own) == 1:
			s.fixed[i], s.kept = own[0], s.kept[:first]
			room -= lightest
			continue
		}
		room -= lightest
		s.fixed[i] = open
		for _, k := range own {
			s.rest.Add(options[k].Weight-lightest, options[k].Value)
		}
		s.rest.End()
	}
	return room
}

// open marks a class that is not fixed.
const open = None - 1

// survives reports whether an optimal choice can contain the option. One that fills the loose
// capacity with options of no value is optimal too.
func (c *chooser) survives(class int, o Option) bool {
	base := c.items[c.base[class]]
	loss := base.Value - o.Value + c.price*float64(o.Weight-base.Weight)
	return loss <= c.best+c.price*float64(c.loose)+c.slight
}

// complete solves the open classes and joins the result with the fixed ones.
// rest and room are those of survive. The value is summed anew, in the order of the classes.
func (s *Solver) complete(classes, rest [][]Option, room int) (choice []int, value float64) {
	part, _ := s.expand(rest, room)
	from := 0 // start of the class in kept
	for i, k := range s.fixed {
		if k == open {
			k = None
			if part[0] != None {
				k = s.kept[from+part[0]]
			}
			from += len(rest[0])
			part, rest = part[1:], rest[1:]
			s.fixed[i] = k
		}
		if k != None {
			value += classes[i][k].Value
		}
	}
	s.bound = value
	return s.fixed, value
}
