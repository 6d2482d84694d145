package joint

import (
	"iter"
	"slices"
)

// Change takes a few jobs off the nodes and puts them elsewhere; it is kept or undone as a
// whole. Its cost depends on the nodes it touches, not on the number of jobs.
//
// There is one for each Search: Begin makes the one before invalid. A place that Undo takes back
// MUST NOT be used afterwards, because its memory is.
type Change struct {
	s     *Search
	jobs  []int
	was   [][]Share
	value []float64
	kept  []Share // memory of places when it began
}

// Resume puts every job where a plan has it. The plan MUST fit the problem.
// It need not be reachable.
func (s *Search) Resume(plan Plan) {
	s.clear()
	for i, place := range plan.Places {
		if place != nil {
			s.put(i, spot{place: place, value: s.p.Worth(i, place)})
		}
	}
}

// Begin begins a change; the previous one is kept as it is.
func (s *Search) Begin() *Change {
	c := &s.change
	c.s, c.kept = s, s.shares
	c.jobs, c.was, c.value = c.jobs[:0], c.was[:0], c.value[:0]
	return c
}

// Off takes a job off the nodes, from its earlier place or from where the change put it.
// A job may be taken off several times; Undo goes back to where it was at Begin.
func (c *Change) Off(i int) {
	if !slices.Contains(c.jobs, i) {
		c.jobs, c.was, c.value = append(c.jobs, i), append(c.was, c.s.places[i]), append(c.value, c.s.value[i])
	}
	c.s.off(i)
}

// Best puts a job that is off the nodes at a size, at its best place. It returns false if there
// is none.
func (c *Change) Best(i, size int) bool {
	at, found := c.s.place(i, size)
	if found {
		c.s.put(i, at)
	}
	return found
}

// Fullest returns the size with the largest value, in what is free now, for a job that is off
// the nodes; 0 if none fits.
func (c *Change) Fullest(i int) int { return c.s.fullest(i) }

// Fit puts a job that is off the nodes at a place with the split of an option: on the nodes
// listed, the first of them first, or, if among is nil, on those it fills best. It returns
// false if there is none.
// A loose option may get another split, but not on listed nodes.
func (c *Change) Fit(i int, o *Option, among []int) bool {
	s, j := c.s, &c.s.p.Jobs[i]
	s.among = among
	place, _ := s.fit(j, o)
	s.among = nil
	if place == nil && o.Loose && among == nil {
		place, _ = s.fitLoosely(j, o)
	}
	switch {
	case place == nil:
		return false
	case sameShares(place, j.Now):
		s.put(i, spot{j.Now, j.Stay, true})
	default:
		s.put(i, spot{place: place, value: o.Value})
	}
	return true
}

// sums returns the values of the change's jobs before and after; false if one of them has no
// GPUs and must have some.
func (c *Change) sums() (before, after float64, ok bool) {
	for k, i := range c.jobs {
		if c.s.places[i] == nil && c.s.p.Jobs[i].Must {
			return 0, 0, false
		}
		before += c.value[k]
		after += c.s.value[i]
	}
	return before, after, true
}

// Gain returns by how much the change raises the sum of values; false if it leaves a job
// without GPUs that must have some.
// It does not say whether the jobs can get there: that is Reachable, which costs more and so comes
// AFTER Gain.
func (c *Change) Gain() (gain float64, ok bool) {
	before, after, ok := c.sums()
	return after - before, ok
}

// Home puts a job that is off the nodes at its present place. It returns false if it has none
// or another job is in its way.
func (c *Change) Home(i int) bool {
	j := &c.s.p.Jobs[i]
	if len(j.Now) == 0 || !c.s.f.fits(j, j.Now) {
		return false
	}
	c.s.put(i, spot{j.Now, j.Stay, true})
	return true
}

// Jobs lists the jobs of the change. It is valid until the next change.
func (c *Change) Jobs() []int { return c.jobs }

// Moved iterates over the jobs of the change with their earlier places.
func (c *Change) Moved() iter.Seq2[int, []Share] {
	return func(yield func(int, []Share) bool) {
		for k, i := range c.jobs {
			if !yield(i, c.was[k]) {
				return
			}
		}
	}
}

// Same reports whether every job is where it was before.
func (c *Change) Same() bool {
	for k, i := range c.jobs {
		if !sameShares(c.was[k], c.s.places[i]) {
			return false
		}
	}
	return true
}

// Undo puts each job back.
// All jobs leave BEFORE any goes back: their old places may be under each other's new ones.
func (c *Change) Undo() {
	for _, i := range c.jobs {
		c.s.off(i)
	}
	for k, i := range c.jobs {
		c.s.back(i, c.was[k], c.value[k])
	}
	c.s.drop(c.kept)
}

// Reachable reports whether the jobs can get to where they were put one after the other,
// without waiting for each other in a circle.
func (s *Search) Reachable() bool { return s.reachable() }

// Place returns where a job was put last; nil = nowhere.
func (s *Search) Place(i int) []Share { return s.places[i] }

// Stays reports whether a job was put at its present place.
// For a job without a present place: whether it was put nowhere.
func (s *Search) Stays(i int) bool { return sameShares(s.places[i], s.p.Jobs[i].Now) }

// Problem returns the problem that is searched.
func (s *Search) Problem() *Problem { return s.p }
