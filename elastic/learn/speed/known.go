package speed

// Known returns a curve with exact answers, such as a published throughput table or a
// simulator's truth. seconds returns the time of a unit of work on a split, the GPUs on each
// node. It MUST be positive, is +Inf where the job cannot run, and MUST depend on the split
// only.
//
// seconds MUST be safe for concurrent use and MUST NOT change or keep the split, which curves share.
func Known(seconds func(split []int) float64) *Curve {
	return &Curve{knowledge: knowledge{known: seconds, samples: 1, source: Measured}}
}

// Split is Hoped for an exact split of GPUs over nodes. Curves of samples distinguish shapes
// only; a curve that is Known distinguishes splits of one shape.
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

// Exact reports whether Split distinguishes splits of one shape.
func (c *Curve) Exact() bool { return c != nil && c.known != nil }

// even is Even, but MUST NOT be changed: equal shares are kept once for all curves. A job without a
// maximum is asked about as many nodes as there are.
func (s Shape) even() []int {
	if s.GPUs%s.Nodes == 0 {
		return equal(s.GPUs/s.Nodes, s.Nodes)
	}
	return s.Even()
}

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
