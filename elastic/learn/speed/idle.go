package speed

// idle is what was seen of a job's GPUs at work.
type idle struct {
	at    Shape
	share float64 // of the time, without work on them
}

// Idle returns the curve of a job whose GPUs were seen to have nothing to do for a
// share of the time, from 0 to 1, in the shape s. That share of a unit's time is
// not theirs (reading, preparing, waiting), so more GPUs do not shorten it: with g
// of them where there were n, a unit takes no less than share + (1-share)*n/g of
// what it took. That is believed of more GPUs as long as nobody tried them; what
// was measured stands, and a curve that is Known knows better.
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

// stall is the shortest time believed in a shape nobody tried, given how idle fewer
// GPUs were.
func (c *Curve) stall(s Shape) float64 {
	if c.idle == nil || s.GPUs <= c.idle.at.GPUs {
		return 0
	}
	took, _ := c.answer(c.idle.at, 0)
	return took * (c.idle.share + (1-c.idle.share)*float64(c.idle.at.GPUs)/float64(s.GPUs))
}
