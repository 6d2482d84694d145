package speed

// Known returns a curve that knows every answer: what an oracle, a profile or a
// published throughput table says. seconds is the time of a unit of work on a
// split, the GPUs on each node; it must be positive, is +Inf where the job cannot
// run, and must depend on nothing but the split.
func Known(seconds func(split []int) float64) *Curve {
	return &Curve{knowledge: knowledge{known: seconds, samples: 1, source: Measured}}
}

// Split is Hoped for an exact split of GPUs over nodes. Curves of samples know
// shapes only; a curve that is Known tells splits of one shape apart.
func (c *Curve) Split(split []int) (seconds float64, src Source) {
	if c != nil && c.known != nil {
		return c.known(split), Measured
	}
	gpus := 0
	for _, g := range split {
		gpus += g
	}
	return c.Hoped(Shape{GPUs: gpus, Nodes: len(split)})
}

// Exact reports whether Split tells splits of one shape apart.
func (c *Curve) Exact() bool { return c != nil && c.known != nil }

// Even is the most even split of the shape, larger shares first.
func (s Shape) Even() []int {
	split := make([]int, s.Nodes)
	for i := range split {
		split[i] = s.GPUs / s.Nodes
		if i < s.GPUs%s.Nodes {
			split[i]++
		}
	}
	return split
}
