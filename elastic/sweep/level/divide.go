package level

import (
	"container/heap"
	"math"
)

// Standing is one sweep when GPUs are divided.
type Standing struct {
	Want   int     // the most lanes it can use now, at least 0
	Lanes  int     // lanes it has now
	Weight float64 // its part among sweeps with equal bids and levels; 0 counts as 1
	Level  int     // its level, 0 or more
	Bid    float64 // what a GPU-second more is worth to it, 0 or more
	Passes bool    // it lets rounds pass, as system D's converged sweeps do: its first lane is not kept; see Rule.Passes
}

// Rules say how Divide weighs sweeps.
type Rules struct {
	FirstLane bool    // every sweep keeps one lane, unless it passes
	ByLevel   bool    // weights are multiplied by 2^-Level
	ByBid     float64 // and by Bid to this power; 0: bids do not count
	Strict    bool    // the highest weight gets all that it wants; else lanes are in proportion
	Margin    float64 // a lane moves to a claim this many times as high; below 1 counts as 1
}

// DefaultRules are those of sluiced: a first lane for each sweep, the others to the highest bid.
func DefaultRules() Rules { return Rules{FirstLane: true, ByBid: 1, Strict: true, Margin: 1.5} }

// Divide says how many of the GPUs, one to a lane, each sweep gets. sweeps are in the order in
// which they arrived, which breaks ties. No sweep gets more than it wants, and no GPU is left while
// any sweep wants more. With FirstLane, a sweep that has a lane and wants one keeps it, and then
// the earliest sweeps without a lane get one, before anything else is divided.
//
// Beyond that lanes are in proportion to weights, rounded by the highest averages of D'Hondt: the
// next lane goes where weight/(lanes+1) is highest. A lane that a sweep has counts Margin times, so
// that lanes do not move back and forth for small differences. The result has one number for each
// of sweeps, which is not changed; gpus below 0 counts as 0. It takes O((sweeps + gpus) log sweeps)
// steps.
func Divide(r Rules, sweeps []Standing, gpus int) []int {
	lanes := make([]int, len(sweeps))
	left := max(gpus, 0)
	if r.FirstLane {
		for _, started := range []bool{true, false} {
			for i, s := range sweeps {
				if left > 0 && s.Want > 0 && !s.Passes && (s.Lanes > 0) == started {
					lanes[i]++
					left--
				}
			}
		}
	}
	q := make(claims, 0, len(sweeps))
	for i, s := range sweeps {
		if lanes[i] < s.Want {
			q = append(q, claim{i, r.claim(s, lanes[i]+1)})
		}
	}
	heap.Init(&q)
	for ; left > 0 && len(q) > 0; left-- {
		i := q[0].sweep
		if lanes[i]++; lanes[i] < sweeps[i].Want {
			q[0].height = r.claim(sweeps[i], lanes[i]+1)
			heap.Fix(&q, 0)
		} else {
			heap.Pop(&q)
		}
	}
	return lanes
}

// least keeps the order of claims where bids are 0: such sweeps get only what nothing else wants.
const least = 1e-300

// claim is how strongly the sweep claims its lane number n, from 1.
func (r Rules) claim(s Standing, n int) float64 {
	w := s.Weight
	if w <= 0 {
		w = 1
	}
	if r.ByLevel {
		w = math.Ldexp(w, -s.Level)
	}
	if r.ByBid > 0 {
		w *= math.Pow(max(s.Bid, 0), r.ByBid)
	}
	if !(w > least) { // NaN too
		w = least
	}
	if !r.Strict {
		w /= float64(n)
	}
	if n <= s.Lanes {
		w *= max(r.Margin, 1)
	}
	return w
}

// claim is a sweep's claim to its next lane.
type claim struct {
	sweep  int
	height float64
}

// claims is a heap (container/heap) with at most one claim for each sweep.
type claims []claim

// Len is the number of sweeps that still want a lane.
func (c claims) Len() int { return len(c) }

// Less puts the highest claim first, of equal ones that of the sweep which arrived first.
func (c claims) Less(i, j int) bool {
	if c[i].height != c[j].height {
		return c[i].height > c[j].height
	}
	return c[i].sweep < c[j].sweep
}

// Swap needs no bookkeeping: a claim knows its sweep, and nothing knows its place.
func (c claims) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push is never called, since Divide fills the heap at once; heap.Interface has it.
func (c *claims) Push(x any) { *c = append(*c, x.(claim)) }

// Pop takes the last element, where heap.Pop has put the highest claim.
func (c *claims) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
