package anneal

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// giver draws a job that has GPUs and is not part of the change yet: three times out of four
// one beside the place, because only GPUs on the same nodes make a place for a large job. It
// returns false if a few draws find none.
func (w *walk) giver(c *joint.Change, beside []joint.Share) (k int, ok bool) {
	for range 4 {
		k = w.rng.IntN(len(w.p.Jobs))
		if len(beside) > 0 && w.rng.IntN(4) > 0 {
			on := w.on[beside[w.rng.IntN(len(beside))].Node]
			k = on[w.rng.IntN(len(on))]
		}
		if len(w.s.Place(k)) > 0 && !slices.Contains(c.Jobs(), k) {
			return k, true
		}
	}
	return 0, false
}

// refill puts the jobs that made room for job i back: first all at their smallest size, so that
// the first does not take what the others need, then one after the other at the size with the
// largest value. It returns false if a job that must have a place finds none.
func (w *walk) refill(c *joint.Change, i int) bool {
	for _, k := range c.Jobs() {
		if j := &w.p.Jobs[k]; k != i && !c.Best(k, j.Smallest()) && j.Must {
			return false
		}
	}
	for _, k := range c.Jobs() {
		if k == i {
			continue
		}
		c.Off(k)
		if size := c.Fullest(k); size > 0 {
			c.Best(k, size)
		}
	}
	return true
}

// held returns the GPUs of a place; 0 for none.
func held(place []joint.Share) (n int) {
	for _, s := range place {
		n += s.GPUs
	}
	return n
}
