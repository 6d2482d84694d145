package anneal

import "github.com/sluice-hpc/sluice/elastic/solve/joint"

// swap lets two jobs exchange sizes, each on the nodes of the other if it fits there and the
// draw says so, else anywhere.
func (w *walk) swap(c *joint.Change, i int) bool {
	k, ok := w.giver(c, nil)
	if !ok || k == i {
		return false
	}
	at, there := w.s.Place(i), w.s.Place(k)
	c.Off(i)
	c.Off(k)
	return w.into(c, i, there) && w.into(c, k, at)
}

// into puts a job where another was, at the largest size up to that one's.
// For no place it does nothing and is true: the other job has no GPUs, and so this one gets none.
func (w *walk) into(c *joint.Change, i int, place []joint.Share) bool {
	if place == nil {
		return true
	}
	size := w.p.Jobs[i].Nearest(held(place))
	if w.rng.IntN(2) == 0 {
		w.spots = w.spots[:0]
		for _, s := range place {
			w.spots = append(w.spots, s.Node)
		}
		if w.onto(c, i, size) {
			return true
		}
	}
	return c.Best(i, size)
}

// traders bounds how many jobs a trade involves.
const traders = 8

// trade lets two nodes exchange all that runs on them: with full nodes it is the only way back
// to where a job is now.
// A job on both keeps both, and a job on one of them and on others moves with one share only.
func (w *walk) trade(c *joint.Change, i int) bool {
	at := w.s.Place(i)
	if len(at) == 0 {
		return false
	}
	a, b := at[w.rng.IntN(len(at))].Node, w.rng.IntN(len(w.p.Nodes))
	if a == b || len(w.on[a])+len(w.on[b]) > traders {
		return false
	}
	for _, n := range [...]int{a, b} {
		for _, k := range w.on[n] {
			c.Off(k)
		}
	}
	for k, place := range c.Moved() {
		w.spots = w.spots[:0]
		for _, s := range place {
			w.spots = append(w.spots, exchange(s.Node, a, b))
		}
		if !w.onto(c, k, held(place)) {
			return false
		}
	}
	return true
}

// exchange returns node b for a and a for b, and any other node unchanged.
func exchange(n, a, b int) int {
	switch n {
	case a:
		return b
	case b:
		return a
	}
	return n
}

// onto puts a job at a size on the nodes in spots.
// It tries the options with as many nodes as there are spots, the most valuable first.
func (w *walk) onto(c *joint.Change, i, size int) bool {
	for _, o := range w.p.Jobs[i].At(size) {
		if len(o.Split) == len(w.spots) && c.Fit(i, &o, w.spots) {
			return true
		}
	}
	return false
}

// tries is how many nodes a move considers.
const tries = 16

// move puts a job on nodes drawn at random, at its size.
// A node may be drawn twice, and is used once. The option is drawn too, so its value may be lower.
func (w *walk) move(c *joint.Change, i int) bool {
	options := w.p.Jobs[i].At(held(w.s.Place(i)))
	if len(options) == 0 {
		return false
	}
	c.Off(i)
	w.spots = w.spots[:0]
	for range tries {
		w.spots = append(w.spots, w.rng.IntN(len(w.p.Nodes)))
	}
	return c.Fit(i, &options[w.rng.IntN(len(options))], w.spots)
}

// evictions bounds how many jobs make way for one that returns to its present place.
const evictions = 6

// home returns a job to its present place; jobs in its way there make way.
func (w *walk) home(c *joint.Change, i int) bool {
	now := w.p.Jobs[i].Now
	if len(now) == 0 || w.s.Stays(i) {
		return false
	}
	c.Off(i)
	for range evictions {
		if c.Home(i) {
			return w.refill(c, i)
		}
		if on := w.on[now[w.rng.IntN(len(now))].Node]; len(on) > 0 {
			if k := on[w.rng.IntN(len(on))]; k != i {
				c.Off(k)
			}
		}
	}
	return false
}

// split spreads a job over more nodes, merge packs it on fewer, at its size.
func (w *walk) split(c *joint.Change, i int) bool { return w.respread(c, i, 1) }
func (w *walk) merge(c *joint.Change, i int) bool { return w.respread(c, i, -1) }

// respread takes the most valuable option with more nodes (sign 1) or fewer (-1) that fits.
func (w *walk) respread(c *joint.Change, i, sign int) bool {
	at := w.s.Place(i)
	c.Off(i)
	for _, o := range w.p.Jobs[i].At(held(at)) {
		if sign*(len(o.Split)-len(at)) > 0 && c.Fit(i, &o, nil) {
			return true
		}
	}
	return false
}
