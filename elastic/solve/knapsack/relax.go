package knapsack

import (
	"cmp"
	"math/bits"
	"slices"
)

// edge joins two neighbouring corners of the concave hull of a class.
// Within a class slopes fall from each edge to the next, so taking edges by slope takes them in order.
type edge struct {
	slope float64 // value gained per unit of weight
	width int32   // weight added
	to    int32   // the item at its heavier end
	class int32
}

// before orders edges as the relaxation takes them: the steepest first; of equal ones the
// earlier class, and within a class the lighter corner.
func (e edge) before(o edge) bool {
	return e.slope > o.slope || (e.slope == o.slope && e.to < o.to)
}

// relax solves the linear relaxation: the edges of all hulls are taken in decreasing slope
// until the next one, the split edge, does not fit (Sinha and Zoltners, "The multiple-choice
// knapsack problem", Operations Research 27, 1979; without sorting as in Zemel, "An O(n)
// algorithm for the linear multiple choice knapsack problem", Information Processing Letters
// 18, 1984). It sets the item of each class before the split, the room left, and the price,
// which is the slope of the split edge, or 0 if everything fits.
func (c *chooser) relax(room int) {
	c.edges = c.edges[:0]
	c.base = c.base[:0]
	for i, own := range c.class {
		c.base = append(c.base, own.first)
		c.hull(int32(i), own)
	}
	split, rest := c.split(room)
	for _, e := range c.edges[:split] {
		c.base[e.class] = max(c.base[e.class], e.to)
	}
	c.rest, c.price = rest, 0
	if split < len(c.edges) {
		c.price = c.edges[split].slope
	}
}

// hull appends the edges of one class.
// It drops the last corner while the new edge is at least as steep as the one before it.
func (c *chooser) hull(class int32, own span) {
	first := len(c.edges)
	from := own.first // the corner before the present one
	for k := own.first + 1; k < own.last; k++ {
		steep := slope(c.items[from].Option, c.items[k].Option)
		for n := len(c.edges); n > first && steep >= c.edges[n-1].slope; n-- {
			from = own.first
			if n-1 > first {
				from = c.edges[n-2].to
			}
			c.edges = c.edges[:n-1]
			steep = slope(c.items[from].Option, c.items[k].Option)
		}
		width := c.items[k].Weight - c.items[from].Weight
		c.edges = append(c.edges, edge{steep, int32(width), k, class})
		from = k
	}
}

// split puts the edges that fit together, the steepest first, before all others, and the split
// edge after them, and returns its index and the room left. It narrows the range with the split
// edge as quickselect does.
func (c *chooser) split(room int) (index, rest int) {
	lo, hi := 0, len(c.edges)
	for tries := 2 * bits.Len(uint(hi)); lo < hi; tries-- {
		if tries == 0 { // after bad pivots: sorting costs at most n log n
			slices.SortFunc(c.edges[lo:hi], func(a, b edge) int {
				return cmp.Or(cmp.Compare(b.slope, a.slope), cmp.Compare(a.to, b.to))
			})
			for ; lo < hi && int(c.edges[lo].width) <= room; lo++ {
				room -= int(c.edges[lo].width)
			}
			break
		}
		p := partition(c.edges[lo:hi]) + lo
		sum := 0
		for _, e := range c.edges[lo:p] {
			sum += int(e.width)
		}
		if sum > room {
			hi = p
			continue
		}
		room -= sum
		if width := int(c.edges[p].width); width > room {
			return p, room
		} else {
			room -= width
		}
		lo = p + 1
	}
	return lo, room
}

// partition puts one edge at its place in the order, with those before it to its left and the
// others to its right, and returns its index.
func partition(e []edge) int {
	last := len(e) - 1
	mid := last / 2
	if e[mid].before(e[0]) {
		e[mid], e[0] = e[0], e[mid]
	}
	if e[last].before(e[0]) {
		e[last], e[0] = e[0], e[last]
	}
	if e[mid].before(e[last]) {
		e[mid], e[last] = e[last], e[mid]
	}
	pivot, n := e[last], 0 // the median of the three
	for i := range e[:last] {
		if e[i].before(pivot) {
			e[i], e[n] = e[n], e[i]
			n++
		}
	}
	e[n], e[last] = e[last], e[n]
	return n
}
