package joint

// byType is what is free of each GPU type on the nodes that have several. Jobs that name no
// type take from the total: which type they get is not known.
// A nil byType is allowed in every method, and means that types do not count.
type byType [][]int // by node, by type; nil if there is one type

// newByType returns nil if no node has several types.
func newByType(p *Problem) byType {
	var b byType
	for i := range p.Nodes {
		if p.Nodes[i].Types == nil {
			continue
		}
		if b == nil {
			b = make(byType, len(p.Nodes))
		}
		b[i] = make([]int, len(p.Nodes[i].Types))
	}
	b.reset(p)
	return b
}

// reset takes every job of the problem off the nodes.
func (b byType) reset(p *Problem) {
	for i := range b {
		copy(b[i], p.Nodes[i].Types)
	}
}

// set makes b the same as another of the same problem.
func (b byType) set(from byType) {
	for i := range b {
		copy(b[i], from[i])
	}
}

// take books GPUs of a node for the job; a negative number gives them back.
// Only a job that names a type is booked here. So what is left of a type can be more than what is
// free on the node, and left is the smaller of the two.
func (b byType) take(j *Job, node, gpus int) {
	if b != nil && j.Type > 0 && j.Type <= len(b[node]) {
		b[node][j.Type-1] -= gpus
	}
}

// left returns how many of the GPUs that are free on a node the job can have.
func (b byType) left(j *Job, node, free int) int {
	switch {
	case b == nil || b[node] == nil || j.Type == 0:
		return free
	case j.Type > len(b[node]):
		return 0
	}
	return min(free, b[node][j.Type-1])
}
