package knapsack

import (
	"cmp"
	"slices"
)

// item is an option that is not dominated: every lighter one of its class has a smaller value.
type item struct {
	Option
	index int32 // index in the caller's class
}

// span is the range of a class in one of the flat arrays.
type span struct{ first, last int32 }

// load copies the options that can be taken, class by class, by increasing weight and value. It
// returns the capacity that is left if every class takes its lightest option; ok is false if
// there is no such choice. With none, taking nothing is an option of every class.
func (c *chooser) load(classes [][]Option, capacity int, none bool) (room int, ok bool) {
	c.items, c.class = c.items[:0], c.class[:0]
	room = capacity
	for _, options := range classes {
		first := len(c.items)
		if none {
			c.items = append(c.items, item{index: None})
		}
		for i, o := range options {
			if o.usable(capacity) {
				c.items = append(c.items, item{o, int32(i)})
			}
		}
		n := undominated(c.items[first:])
		if n == 0 {
			return 0, false
		}
		c.items = c.items[:first+n]
		c.class = append(c.class, span{int32(first), int32(first + n)})
		room -= c.items[first].Weight
		if room < 0 {
			return 0, false
		}
	}
	return c.tighten(room), room >= 0
}

// undominated sorts the items of one class and keeps those of larger value than every lighter
// one; of equals the one listed first. It returns their number.
func undominated(own []item) int {
	order := func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(b.Value, a.Value), cmp.Compare(a.index, b.index))
	}
	if !slices.IsSortedFunc(own, order) {
		slices.SortFunc(own, order)
	}
	n := 0
	for _, it := range own {
		if n == 0 || it.Value > own[n-1].Value {
			own[n] = it
			n++
		}
	}
	return n
}

// tighten drops items that fit in no choice, and returns the part of the room that choices can
// fill: if every option weighs a multiple of 4 more than the lightest of its class, 7 is no
// better than 4.
func (c *chooser) tighten(room int) int {
	step := 0
	for i := range c.class {
		own := &c.class[i]
		lightest := c.items[own.first].Weight
		for c.items[own.last-1].Weight-lightest > room {
			own.last--
		}
		for _, it := range c.items[own.first:own.last] {
			step = divisor(step, it.Weight-lightest)
		}
	}
	c.loose = 0
	if step > 0 {
		c.loose = room % step
	}
	return room - c.loose
}

// divisor returns the greatest common divisor; that of 0 and n is n.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
