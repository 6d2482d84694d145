package speed

// idle is what was observed of a job's GPU utilisation.
type idle struct {
	at    Shape
	share float64 // share of the time in which the GPUs had no work
}

// Idle returns the curve of a job whose GPUs were observed to be idle for a share of the time,
// from 0 to 1, in the shape s. That share of a unit's time is not spent on GPUs (reading,
// preparing, waiting), so more GPUs do not shorten it: with g of them instead of n, a unit
// takes at least share + (1-share)*n/g of what it took. This bound applies to larger numbers of
// GPUs that were not tried; measured shapes, and curves that are Known, are not changed.
func (c *Curve) Idle(s Shape, share float64) *Curve {
	if c == nil {
		c = unknown
	}
	s = s.possible()
	if c.known != nil || !(share > 0) || share > 1 {
		return c
	}
	if n := len(c.measured); n > 0 && c.measured[n-1].GPUs > s.GPUs {
		return c
	}
	out := &Curve{knowledge: c.knowledge}
	out.idle = &idle{s, share}
	return out
}

// stall returns the shortest time accepted in a shape that was not tried, given how idle fewer
// GPUs were.
func (c *Curve) stall(s Shape) float64 {
	if c.idle == nil || s.GPUs <= c.idle.at.GPUs {
		return 0
	}
	took, _ := c.answer(c.idle.at, 0)
	return took * (c.idle.share + (1-c.idle.share)*float64(c.idle.at.GPUs)/float64(s.GPUs))
}
