package speed

import "math"

// Span is a range of sizes on nodes of PerNode GPUs: Least, and each Step more, at most Most.
type Span struct {
	Least, Step, Most int // Least and Step at least 1
	PerNode           int // at least 1
}

// oneByOne is up to which size every size of a span is looked at; beyond it sizes double, and the
// largest is the last: a span without an end costs little on large clusters.
const oneByOne = 64

// spans is for how many spans a curve caches answers: one for each set of partitions.
const spans = 16

// Fastest returns the size of a span at which a unit of work takes least time on as few nodes as
// possible, the smallest such; 0 if the span is empty. It is cached, since a curve never changes.
// Expected times count, not hoped ones.
func (c *Curve) Fastest(of Span) int {
	if c == nil {
		c = unknown
	}
	c.memo.Lock()
	defer c.memo.Unlock()
	best, known := c.memo.fastest[of]
	if known {
		return best
	}
	least := math.Inf(1)
	of.each(func(n int) {
		if seconds, _ := c.Seconds(Shape{GPUs: n, Nodes: (n + of.PerNode - 1) / of.PerNode}); best == 0 || seconds < least {
			best, least = n, seconds
		}
	})
	if c.memo.fastest == nil || len(c.memo.fastest) >= spans {
		c.memo.fastest = map[Span]int{}
	}
	c.memo.fastest[of] = best
	return best
}

// each calls see with sizes of the span, ascending.
func (s Span) each(see func(n int)) {
	last := s.Least + (s.Most-s.Least)/s.Step*s.Step
	for n := s.Least; n <= s.Most; {
		if see(n); n < oneByOne {
			n += s.Step
		} else if n < last { // twice n may be less than a step above it
			n = min(last, max(n+s.Step, s.Least+(2*n-s.Least)/s.Step*s.Step))
		} else {
			return
		}
	}
}
