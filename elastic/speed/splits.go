package speed

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Timed is a way to spread GPUs over nodes and the time a unit of work takes so.
type Timed struct {
	// Split is the GPUs on each node. Which node gets which share does not matter;
	// the order of the shares may (see Known).
	Split   []int
	Seconds float64
}

// Grid says which splits a cluster can give.
type Grid struct {
	PerNode int // most GPUs a job can have on one node
	Nodes   int // most nodes a job can have
	// Any admits every split, as published simulators do. Off, all shares are
	// equal, which is what Slurm gives whatever the order of nodes.
	Any bool
	// Uneven adds uneven splits over the fewest nodes possible, which Slurm gives
	// where the nodes' free GPUs happen to be so.
	Uneven bool
}

// exactNodes is up to how many nodes every uneven split is looked at; beyond,
// only the most even one. Measured profiles end there, too.
const exactNodes = 4

// memo keeps the answers of Splits: a curve never changes.
type memo struct {
	sync.Mutex
	splits map[memoKey][]Timed
}

type memoKey struct {
	Grid
	gpus int
}

// Splits lists the ways to have n GPUs on the grid, fastest first, among equals on
// fewest nodes. The caller must not change them. It is empty when there is none
// that the job can run on.
func (c *Curve) Splits(n int, g Grid) []Timed {
	if c == nil {
		c = unknown
	}
	key := memoKey{g, n}
	c.memo.Lock()
	defer c.memo.Unlock()
	out, ok := c.memo.splits[key]
	if !ok {
		if c.memo.splits == nil {
			c.memo.splits = map[memoKey][]Timed{}
		}
		out = c.splits(n, g)
		c.memo.splits[key] = out
	}
	return out
}

// unknown answers as a nil Curve does, and remembers.
var unknown = &Curve{form: prior, source: Prior}

func (c *Curve) splits(n int, g Grid) []Timed {
	if n < 1 || g.PerNode < 1 {
		return nil
	}
	var out []Timed
	fewest := (n + g.PerNode - 1) / g.PerNode
	for m := fewest; m <= min(n, g.Nodes); m++ {
		switch any := g.Any || g.Uneven && m == fewest; {
		case n%m == 0 && !any:
			out = c.add(out, even(n, m))
		case !any:
		case m > exactNodes:
			out = c.add(out, even(n, m))
		default:
			for _, parts := range partitions(n, m, g.PerNode) {
				out = c.add(out, c.fastest(parts))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Timed) int {
		return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(len(a.Split), len(b.Split)))
	})
	return out
}

func (c *Curve) add(to []Timed, split []int) []Timed {
	seconds, _ := c.Split(split)
	if math.IsInf(seconds, 0) || math.IsNaN(seconds) || seconds <= 0 {
		return to
	}
	return append(to, Timed{split, seconds})
}

func even(n, m int) []int { return Shape{GPUs: n, Nodes: m}.Even() }

// partitions lists the ways to write n as m parts from 1 to most, parts falling.
func partitions(n, m, most int) [][]int {
	if m == 1 {
		if n > most {
			return nil
		}
		return [][]int{{n}}
	}
	var out [][]int
	for first := min(most, n-m+1); first*m >= n; first-- {
		for _, rest := range partitions(n-first, m-1, first) {
			out = append(out, append([]int{first}, rest...))
		}
	}
	return out
}

// fastest is the order of the parts in which the job runs fastest. Only curves
// that are Known tell orders apart.
func (c *Curve) fastest(parts []int) []int {
	if !c.Exact() {
		return parts
	}
	best, least := parts, math.Inf(1)
	arrange(slices.Clone(parts), 1, func(order []int) {
		if s, _ := c.Split(order); s < least {
			best, least = slices.Clone(order), s
		}
	})
	return best
}

// arrange calls see with every order of the parts from index i on, skipping
// exchanges of equal ones.
func arrange(parts []int, i int, see func([]int)) {
	if i >= len(parts)-1 {
		see(parts)
		return
	}
	for k := i; k < len(parts); k++ {
		if k > i && slices.Contains(parts[i:k], parts[k]) {
			continue
		}
		parts[i], parts[k] = parts[k], parts[i]
		arrange(parts, i+1, see)
		parts[i], parts[k] = parts[k], parts[i]
	}
}
