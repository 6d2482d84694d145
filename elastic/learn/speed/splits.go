package speed

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Timed is a split and the time of a unit of work on it.
type Timed struct {
	// Split is the GPUs on each node. Which node gets which share does not matter; the order of
	// the shares may (see Known).
	Split   []int
	Seconds float64
	// Loose says that, as far as is known, every other split over as many nodes takes the same
	// time. It is set only for grids that allow any split.
	Loose bool
}

// Grid says which splits a cluster allows.
// Any wins over Uneven. It is the key of a cache, so grids SHOULD be few and equal where they can be.
type Grid struct {
	PerNode int // most GPUs a job can have on one node
	Nodes   int // most nodes a job can have
	// Any allows every split, as published simulators do. Without it all shares are equal,
	// which is what Slurm allocates whatever the order of nodes.
	Any bool
	// Uneven adds uneven splits over the fewest nodes possible, and over up to four, which
	// Slurm allocates if the nodes' free GPUs happen to be uneven.
	Uneven bool
}

// exactNodes is the number of nodes up to which every uneven split is tried; beyond, only the
// most even one. Measured profiles have no more nodes either.
const exactNodes = 4

// manyNodes is the number of nodes up to which every number of nodes is tried where any split
// is allowed. For a size that needs more, up to twice as many as it needs are tried.
const manyNodes = 64

// memo caches the answers of Splits and Fastest: a curve never changes.
type memo struct {
	sync.Mutex
	grids   []table // most recently used last
	fastest map[Span]int
}

// table is the answers for one grid.
type table struct {
	grid  Grid
	known map[int][]Timed // by GPUs
}

// grids is for how many grids a curve caches answers. Each partition is one, and a node that is
// added or removed makes another.
const grids = 16

// Splits returns, for each number of GPUs, the splits of it on the grid, fastest first, with
// fewer nodes first among equals. There are none if the job cannot run. The caller MUST NOT
// change the result.
//
// The result has one list for each of sizes. It is computed under the lock of the cache: functions
// given to Known and Predicted MUST NOT call Splits or Fastest of the same curve.
func (c *Curve) Splits(g Grid, sizes ...int) [][]Timed {
	if c == nil {
		c = unknown
	}
	c.memo.Lock()
	defer c.memo.Unlock()
	known := c.memo.of(g)
	out := make([][]Timed, len(sizes))
	for i, n := range sizes {
		splits, ok := known[n]
		if !ok {
			splits = c.splits(n, g)
			known[n] = splits
		}
		out[i] = splits
	}
	return out
}

// of returns the answers for a grid. The least recently used grid is dropped if there are too
// many.
func (m *memo) of(g Grid) map[int][]Timed {
	for i := range m.grids {
		if m.grids[i].grid == g {
			return m.grids[i].known
		}
	}
	if len(m.grids) == grids {
		m.grids = slices.Delete(m.grids, 0, 1)
	}
	m.grids = append(m.grids, table{g, map[int][]Timed{}})
	return m.grids[len(m.grids)-1].known
}

// unknown answers as a nil Curve does, with a cache.
var unknown = &Curve{knowledge: knowledge{form: prior, source: Prior}}

// splits computes what Splits caches, for one number of GPUs.
func (c *Curve) splits(n int, g Grid) []Timed {
	if n < 1 || g.PerNode < 1 {
		return nil
	}
	var out []Timed
	fewest, most := (n+g.PerNode-1)/g.PerNode, min(n, g.Nodes)
	uneven := fewest - 1 // on up to this many nodes
	switch {
	case g.Any:
		uneven = min(most, max(manyNodes, 2*fewest))
	case g.Uneven:
		uneven = min(most, max(fewest, exactNodes))
	}
	for m := fewest; m <= uneven; m++ {
		out = c.uneven(out, n, m, g.PerNode)
	}
	for share := g.PerNode; share >= 1 && !g.Any; share-- {
		if m := n / share; n%share == 0 && m <= most && m > uneven {
			out = c.add(out, n, equal(share, m))
		}
	}
	slices.SortStableFunc(out, func(a, b Timed) int {
		return cmp.Or(cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(len(a.Split), len(b.Split)))
	})
	return out
}

// uneven adds every split over m nodes; of many nodes, only the most even one.
func (c *Curve) uneven(to []Timed, n, m, perNode int) []Timed {
	if m > exactNodes {
		had := len(to)
		if to = c.add(to, n, Shape{GPUs: n, Nodes: m}.Even()); len(to) > had {
			to[had].Loose = true
		}
		return to
	}
	if !c.Exact() { // all splits over as many nodes take the same time
		seconds, _ := c.Hoped(Shape{GPUs: n, Nodes: m})
		for _, parts := range partitions(n, m, perNode) {
			to = timed(to, parts, seconds)
		}
		return to
	}
	for _, parts := range partitions(n, m, perNode) {
		to = c.add(to, n, c.fastest(parts))
	}
	return to
}

// add adds one split with its time.
func (c *Curve) add(to []Timed, n int, split []int) []Timed {
	seconds := 0.0
	if c.Exact() {
		seconds = c.known(split)
	} else {
		seconds, _ = c.Hoped(Shape{GPUs: n, Nodes: len(split)})
	}
	return timed(to, split, seconds)
}

// timed adds a split if the job can run on it.
func timed(to []Timed, split []int, seconds float64) []Timed {
	if math.IsInf(seconds, 0) || math.IsNaN(seconds) || seconds <= 0 {
		return to
	}
	return append(to, Timed{Split: split, Seconds: seconds})
}

// shares are equal splits of any length, by share, shared by all curves.
var shares struct {
	sync.Mutex
	of map[int][]int
}

// equal returns the split with the same share on each of m nodes.
func equal(share, m int) []int {
	shares.Lock()
	defer shares.Unlock()
	have := shares.of[share]
	if len(have) < m {
		if shares.of == nil {
			shares.of = map[int][]int{}
		}
		have = slices.Repeat([]int{share}, max(16, 2*m))
		shares.of[share] = have
	}
	return have[:m:m]
}

// parted caches partitions, shared by all curves.
var parted struct {
	sync.Mutex
	of map[[3]int][][]int
}

// partedMost is how many partitions are cached: nodes of 8 GPUs have some hundred.
const partedMost = 1024

// partitions returns the ways to write n as m parts from 1 to most, in descending order within
// each. The caller MUST NOT change the result.
func partitions(n, m, most int) [][]int {
	parted.Lock()
	defer parted.Unlock()
	key := [3]int{n, m, most}
	out, known := parted.of[key]
	if !known {
		if out = partition(n, m, most); len(parted.of) >= partedMost {
			parted.of = nil
		}
		if parted.of == nil {
			parted.of = map[[3]int][][]int{}
		}
		parted.of[key] = out
	}
	return out
}

// partition computes partitions: the first part, and then those of the rest that are not larger.
func partition(n, m, most int) [][]int {
	if m == 1 {
		if n > most {
			return nil
		}
		return [][]int{{n}}
	}
	var out [][]int
	for first := min(most, n-m+1); first*m >= n; first-- {
		for _, rest := range partition(n-first, m-1, first) {
			out = append(out, append([]int{first}, rest...))
		}
	}
	return out
}

// fastest returns the order of the parts in which the job runs fastest. Only curves that are
// Known distinguish orders.
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

// arrange calls see with every order of the parts from index i on, without exchanges of equal
// parts.
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
