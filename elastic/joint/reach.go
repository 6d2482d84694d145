package joint

import "slices"

// reachable reports whether the plan can be carried out one job after the other,
// each taking GPUs that are free at its turn: whether nobody waits for anybody in a
// circle. A mover that finds no room waits at the node that lacks it until somebody
// leaves there; so every mover is looked at once for each node it is stopped by.
func (s *Search) reachable() bool {
	if s.p.AtOnce {
		return true
	}
	r := &s.r
	r.start(s)
	for len(r.ready) > 0 {
		i := int(r.ready[len(r.ready)-1])
		r.ready = r.ready[:len(r.ready)-1]
		node := r.stopped(s, i)
		if node >= 0 {
			r.next[i] = r.queue[node]
			r.queue[node] = int32(i)
			continue
		}
		r.depart(s, i)
	}
	return r.left == 0
}

// road is the nodes while a plan is carried out in thought.
type road struct {
	free  []int
	spans []int
	ready []int32
	queue []int32 // by node: the first of those that wait there; -1 = none
	next  []int32 // by job: who waits behind it
	left  int     // movers that have not gone
}

func (r *road) start(s *Search) {
	if r.free == nil {
		r.free, r.spans = make([]int, len(s.p.Nodes)), make([]int, len(s.p.Nodes))
		r.queue, r.next = make([]int32, len(s.p.Nodes)), make([]int32, len(s.p.Jobs))
	}
	for n := range s.p.Nodes {
		r.free[n], r.spans[n], r.queue[n] = s.p.Nodes[n].Free, 0, -1
		if s.p.Nodes[n].Spanning {
			r.spans[n] = 1
		}
	}
	r.ready, r.left = r.ready[:0], 0
	for i := range s.p.Jobs {
		j := &s.p.Jobs[i]
		r.put(j.Now, 1)
		if !slices.Equal(j.Now, s.places[i]) {
			r.ready = append(r.ready, int32(i))
			r.left++
		}
	}
}

func (r *road) put(place []Share, sign int) {
	for _, sh := range place {
		r.free[sh.Node] -= sign * sh.GPUs
		if len(place) > 1 {
			r.spans[sh.Node] += sign
		}
	}
}

// stopped returns the node that has no room for a mover now; -1 when none.
func (r *road) stopped(s *Search, i int) int {
	j := &s.p.Jobs[i]
	r.put(j.Now, -1)
	defer r.put(j.Now, 1)
	for _, sh := range s.places[i] {
		if r.free[sh.Node] < sh.GPUs || len(s.places[i]) > 1 && !s.p.Share && !j.Mixes && r.spans[sh.Node] > 0 {
			return sh.Node
		}
	}
	return -1
}

// depart lets a mover go and looks again at those that waited where it was.
func (r *road) depart(s *Search, i int) {
	r.put(s.p.Jobs[i].Now, -1)
	r.put(s.places[i], 1)
	r.left--
	for _, sh := range s.p.Jobs[i].Now {
		for k := r.queue[sh.Node]; k >= 0; k = r.next[k] {
			r.ready = append(r.ready, k)
		}
		r.queue[sh.Node] = -1
	}
}
