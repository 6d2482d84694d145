package speed

// Times returns the curve of a job that takes so many times as long for a unit in every shape. It is for
// jobs that are alike but for the work of a unit, such as the trials of a sweep. A curve that is Known, or
// a factor that is not above 0, changes nothing.
func (c *Curve) Times(factor float64) *Curve {
	if c == nil || c.known != nil || !(factor > 0) || factor == 1 {
		return c
	}
	out := c.scaled(factor)
	if c.kin != nil { // once, since each of them caches its answers
		out.kin = &family{on: make(map[string]*Curve, len(c.kin.on)), base: c.kin.base}
		for kind, own := range c.kin.on {
			own = own.scaled(factor)
			own.kin, out.kin.on[kind] = out.kin, own
		}
	}
	return out
}

// scaled is a copy whose answers are so many times as long, unless it is Known.
func (c *Curve) scaled(factor float64) *Curve {
	out := &Curve{knowledge: c.knowledge}
	switch {
	case c.known != nil:
	case c.factor > 0:
		out.factor *= factor
	default:
		out.factor = factor
	}
	return out
}

// times applies the curve's factor to an answer.
func (c *Curve) times(seconds float64, src Source) (float64, Source) {
	if c != nil && c.factor > 0 {
		seconds *= c.factor
	}
	return seconds, src
}
