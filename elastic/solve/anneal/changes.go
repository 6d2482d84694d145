package anneal

import "github.com/sluice-hpc/sluice/elastic/solve/joint"

// changes are the ways from a plan to its neighbours. Each is drawn as often as it is listed:
// most often those that most often find something better.
// A change returns false if it cannot be made; what it did until then is undone by the caller.
var changes = []func(*walk, *joint.Change, int) bool{
	(*walk).grow, (*walk).grow, (*walk).grow, (*walk).shrink,
	(*walk).divide, (*walk).divide, (*walk).divide, (*walk).divide, (*walk).divide,
	(*walk).swap, (*walk).swap, (*walk).home, (*walk).home, (*walk).trade, (*walk).move, (*walk).split, (*walk).merge,
}

// change makes a random one and returns its gain; ok is false if there is nothing to do or no
// room. It has to be undone then.
func (w *walk) change(c *joint.Change) (gain float64, ok bool) {
	i := w.rng.IntN(len(w.p.Jobs))
	if len(w.p.Jobs[i].Sizes) == 0 || !changes[w.rng.IntN(len(changes))](w, c, i) {
		return 0, false
	}
	return c.Gain()
}

// grow gives a job a larger size. If there is no room up to three others make it: they are put
// back in what is left.
// Each next one is usually beside the one before, so that they free GPUs on the same nodes.
func (w *walk) grow(c *joint.Change, i int) bool {
	at := w.s.Place(i)
	now := held(at)
	c.Off(i)
	size := w.larger(c, i, now)
	if size <= now {
		return false
	}
	if c.Best(i, size) {
		return true
	}
	for range 3 {
		k, ok := w.giver(c, at)
		if !ok {
			return false
		}
		at = w.s.Place(k)
		c.Off(k)
		if c.Best(i, size) {
			return w.refill(c, i)
		}
	}
	return false
}

// larger draws a larger size: the next, double, or the one with the largest value in what is
// free.
func (w *walk) larger(c *joint.Change, i, now int) int {
	j := &w.p.Jobs[i]
	switch w.rng.IntN(3) {
	case 0:
		return j.Nearest(2 * max(1, now))
	case 1:
		if n := c.Fullest(i); n > now {
			return n
		}
	}
	return j.Step(now, 1)
}

// shrink gives a job a smaller size, the next or half, or none at all if it may be without.
func (w *walk) shrink(c *joint.Change, i int) bool {
	j, now := &w.p.Jobs[i], held(w.s.Place(i))
	if now == 0 {
		return false
	}
	size := j.Step(now, -1)
	if w.rng.IntN(2) == 0 {
		size = j.Nearest(now / 2)
	}
	if size >= now {
		return false
	}
	c.Off(i)
	return size == 0 || c.Best(i, size)
}

// divide takes a job and one or two others off, gives it another size, and lets the others
// share what is left.
// Unlike grow it may make the job smaller, so that what it had goes to the others.
func (w *walk) divide(c *joint.Change, i int) bool {
	at := w.s.Place(i)
	now := held(at)
	c.Off(i)
	for range 1 + w.rng.IntN(2) {
		if k, ok := w.giver(c, at); ok {
			at = w.s.Place(k)
			c.Off(k)
		}
	}
	if size := w.another(c, i, now); size > 0 && !c.Best(i, size) {
		return false
	}
	return w.refill(c, i)
}

// another draws any other size, near or far.
// It may draw the present one, or 0: then the job is left without GPUs.
func (w *walk) another(c *joint.Change, i, now int) int {
	j := &w.p.Jobs[i]
	switch w.rng.IntN(7) {
	case 0:
		return j.Step(now, 1)
	case 1:
		return j.Step(now, -1)
	case 2:
		return j.Nearest(2 * max(1, now))
	case 3:
		return j.Nearest(now / 2)
	case 4:
		return c.Fullest(i)
	case 5:
		return held(j.Now)
	}
	return j.Nearest(now/2 + w.rng.IntN(now+2))
}
