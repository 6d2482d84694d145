package knapsack

import (
	"cmp"
	"math"
	"slices"
)

// move is one way for a class to differ from the choice of the relaxation.
type move struct {
	loss  float64 // value, at the price of the relaxation, that this gives up; at least 0
	shift int32   // weight added
	item  int32
}

// member is a class of the core: one with moves.
type member struct {
	rate  float64 // smallest loss per unit of weight of its moves
	mark  uint64  // equal for equal moves
	class int32
	moves span
}

// ahead bounds what the members from one on can do.
type ahead struct {
	up   float64 // smallest loss per unit of weight added, or left unused at the price
	down float64 // smallest loss per unit of weight given back
	fall int     // most weight that they can give back
}

// A choice better than the relaxed one is that choice with some moves. At the price of the
// relaxation its total value is
//
//	value = limit - sum of the losses - price * weight left unused
//
// where limit is the value of the relaxation. So a choice that gives up "cost" can only be
// improved by moves that each lose less than that.

// exchange starts with the relaxed choice as the best, or with the best choice
// that is one move away.
func (c *chooser) exchange() {
	c.best, c.start = c.price*float64(c.rest), move{item: None}
	largest := 0.0
	for i, own := range c.class {
		for k := own.first; k < own.last; k++ {
			m := c.move(i, k)
			largest = max(largest, math.Abs(c.items[k].Value)+c.price*float64(c.items[k].Weight))
			if unused := c.rest - int(m.shift); unused >= 0 {
				if cost := m.loss + c.price*float64(unused); cost < c.best {
					c.best, c.start, c.owner = cost, m, i
				}
			}
		}
	}
	c.slight = rounding * largest
}

// rounding is the difference, relative to the largest option, below which two choices are
// equal: losses are differences of floating-point numbers.
const rounding = 1e-12

// move returns how the class would differ with the item.
func (c *chooser) move(class int, k int32) move {
	base, it := c.items[c.base[class]], c.items[k]
	shift := it.Weight - base.Weight
	loss := max(0, base.Value-it.Value+c.price*float64(shift)) // below 0 only by rounding
	return move{loss, int32(shift), k}
}

// gather fills the core with every class that has a move that could help.
// It leaves the core empty if the relaxed choice is optimal up to rounding.
func (c *chooser) gather() {
	c.moves, c.core = c.moves[:0], c.core[:0]
	if c.best <= c.slight {
		return
	}
	for i, own := range c.class {
		m := member{rate: math.Inf(1), class: int32(i), moves: span{first: int32(len(c.moves))}}
		for k := own.first; k < own.last; k++ {
			if move := c.move(i, k); k != c.base[i] && move.loss < c.best-c.slight {
				c.moves = append(c.moves, move)
				m.rate = min(m.rate, move.loss/math.Abs(float64(move.shift)))
				m.mark = mix(mix(m.mark, math.Float64bits(move.loss)), uint64(move.shift))
			}
		}
		if m.moves.last = int32(len(c.moves)); m.moves.last > m.moves.first {
			c.core = append(c.core, m)
		}
	}
	slices.SortFunc(c.core, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(a.mark, b.mark), cmp.Compare(a.class, b.class))
	})
	c.thin()
	c.look()
}

// mix folds a word into a mark (the finalizer of splitmix64).
func mix(mark, word uint64) uint64 {
	x := (mark ^ word) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// thin drops members beyond the number of each kind that can be needed. Some optimal choice has
// no set of moves whose shifts cancel, because leaving them out loses nothing. Its moves can be
// ordered so that the sum of their shifts stays above -down and at most max(up, rest), where
// down and up are the largest shifts in each direction: add while the sum is not positive, else
// give back. No sum occurs twice, so there are fewer moves than sums; of equal members the
// first ones suffice.
func (c *chooser) thin() {
	up, down := c.rest, 0
	for _, m := range c.moves {
		up, down = max(up, int(m.shift)), max(down, -int(m.shift))
	}
	n, equal := 0, 0
	for _, m := range c.core {
		if n > 0 && c.alike(c.core[n-1], m) {
			equal++
		} else {
			equal = 0
		}
		if equal < up+down {
			c.core[n] = m
			n++
		}
	}
	c.core = c.core[:n]
}

// alike reports whether two members have the same moves.
func (c *chooser) alike(a, b member) bool {
	return a.mark == b.mark && slices.EqualFunc(c.of(a), c.of(b), func(x, y move) bool {
		return x.loss == y.loss && x.shift == y.shift
	})
}

// of returns the moves of a member.
func (c *chooser) of(m member) []move { return c.moves[m.moves.first:m.moves.last] }

// look sets the bounds ahead of each member.
func (c *chooser) look() {
	c.ahead = grow(c.ahead, len(c.core)+1)
	next := ahead{up: c.price, down: math.Inf(1)}
	c.ahead[len(c.core)] = next
	for i := len(c.core) - 1; i >= 0; i-- {
		most := 0
		for _, m := range c.of(c.core[i]) {
			if m.shift > 0 {
				next.up = min(next.up, m.loss/float64(m.shift))
			} else {
				next.down = min(next.down, m.loss/-float64(m.shift))
				most = max(most, -int(m.shift))
			}
		}
		next.fall += most
		c.ahead[i] = next
	}
}
