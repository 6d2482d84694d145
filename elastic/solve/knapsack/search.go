package knapsack

import "math"

// stage records how each weight was reached after one member.
// From taken trace finds the moves back from the last stage to the first.
type stage struct {
	member int32
	low    int // smallest weight above the capacity
	at     int // index of its move in taken
}

// search goes through the core by dynamic programming: loss[w] is the smallest loss with which
// the choice is w above the capacity, which later members may give back. A state is dropped if
// even the best rates of the remaining members cannot bring it below the best cost known. With
// members in the order of their rates the core expands from the split edge on and ends when no
// gain is possible (Pisinger, "A minimal algorithm for the multiple-choice knapsack problem",
// EJOR 83, 1995; the losses are those of his upper bound test). It returns the steps taken, at
// most budget, and the smallest cost that is still possible.
func (c *chooser) search(budget int) (work int, least float64) {
	c.stages, c.taken = c.stages[:0], c.taken[:0]
	c.loss = append(c.loss[:0], 0)
	c.low, c.found = -c.rest, 0
	for i, m := range c.core {
		lowest, highest, live := c.reach(i)
		if !live {
			continue
		}
		steps := len(c.loss) * (1 + len(c.of(m)))
		steps += highest - lowest + 1
		if work+steps > budget {
			return work, c.possible(i)
		}
		work += steps
		c.enter(i, lowest, highest)
		c.improve()
		c.prune(i + 1)
		if len(c.loss) == 0 {
			break
		}
	}
	return work, c.best
}

// reach returns the range of weights to consider after the member; live is false if it has no
// move that could help.
// Weights beyond the range cannot come back below the best cost with what is ahead.
func (c *chooser) reach(i int) (lowest, highest int, live bool) {
	lowest, highest = c.low, c.low+len(c.loss)-1
	up, down := 0, 0
	for _, m := range c.of(c.core[i]) {
		if m.loss < c.best-c.slight {
			up, down, live = max(up, int(m.shift)), max(down, -int(m.shift)), true
		}
	}
	next := c.ahead[i+1]
	lowest, highest = lowest-down, min(highest+up, next.fall)
	if deep := c.best / next.up; float64(-lowest) > deep {
		lowest = -int(deep)
	}
	if far := c.best / next.down; float64(highest) > far {
		highest = int(far)
	}
	return lowest, highest, live
}

// enter extends the states by one member.
// The first move copies the states as they are: the member keeps its option of the base.
func (c *chooser) enter(i, lowest, highest int) {
	width := max(0, highest-lowest+1)
	at := len(c.taken)
	c.stages = append(c.stages, stage{int32(i), lowest, at})
	c.taken = extend(c.taken, width)
	c.next = grow(c.next, width)
	next, taken := c.next, c.taken[at:]
	clear(taken)
	for k := range next {
		next[k] = math.Inf(1)
	}
	for k, m := range c.of(c.core[i]) {
		if k == 0 {
			overlay(next, taken, c.loss, c.low-lowest, 0, 0)
		}
		if m.loss < c.best-c.slight {
			overlay(next, taken, c.loss, c.low+int(m.shift)-lowest, m.loss, int32(k+1))
		}
	}
	c.loss, c.next, c.low = next, c.loss, lowest
}

// overlay merges the states, shifted by an offset and increased by a loss, into the next ones
// where they are better.
func overlay(next []float64, taken []int32, states []float64, offset int, loss float64, move int32) {
	from := max(0, -offset)
	to := min(len(states), len(next)-offset)
	if from >= to {
		return
	}
	states = states[from:to]
	next = next[from+offset:][:len(states)]
	taken = taken[from+offset:][:len(states)]
	for k, l := range states {
		if l += loss; l < next[k] {
			next[k], taken[k] = l, move
		}
	}
}

// improve keeps the best state within the capacity if it is better than the best known.
func (c *chooser) improve() {
	for k, l := range c.loss[:max(0, min(len(c.loss), 1-c.low))] {
		if cost := l - c.price*float64(c.low+k); cost < c.best-c.slight {
			c.best, c.found, c.at = cost, len(c.stages), c.low+k
		}
	}
}

// prune drops the states that can no longer improve the best, and narrows the range to the
// rest.
func (c *chooser) prune(i int) {
	first, last := len(c.loss), 0
	for k, l := range c.loss {
		if l+c.ahead[i].least(c.low+k) < c.best-c.slight {
			first, last = min(first, k), k+1
		} else {
			c.loss[k] = math.Inf(1)
		}
	}
	first = min(first, last)
	c.low += first
	// Moved to the front, so that the array keeps its capacity.
	c.loss = c.loss[:copy(c.loss, c.loss[first:last])]
}

// least returns the smallest loss that a state above the capacity will have.
func (a ahead) least(above int) float64 {
	switch {
	case above > 0:
		return a.down * float64(above)
	case above < 0:
		return a.up * -float64(above)
	}
	return 0
}

// possible returns the smallest cost that the states may still reach.
// It is what Choose reports as the bound when the budget is used up.
func (c *chooser) possible(i int) float64 {
	least := c.best
	for k, l := range c.loss {
		least = min(least, l+c.ahead[i].least(c.low+k))
	}
	return least
}

// trace changes the base into the best choice found.
func (c *chooser) trace() {
	if c.found == 0 {
		if c.start.item != None {
			c.base[c.owner] = c.start.item
		}
		return
	}
	at := c.at
	for s := c.found - 1; s >= 0; s-- {
		stage := c.stages[s]
		member := c.core[stage.member]
		if k := c.taken[stage.at+at-stage.low]; k > 0 {
			m := c.of(member)[k-1]
			c.base[member.class] = m.item
			at -= int(m.shift)
		}
	}
}
