package speed

// Times returns the curve of a job that takes so many times as long for a unit in every shape. It is for
// jobs that are alike but for the work of a unit, such as the trials of a sweep. A curve that is Known, or
// a factor that is not above 0, changes nothing.
func (c *Curve) Times(factor float64) *Curve {
	if c == nil || c.known != nil || !(factor > 0) || factor == 1 {
		return c
	}
	out := &Curve{knowledge: c.knowledge}
	out.factor = factor
	if c.factor > 0 {
		out.factor *= c.factor
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
