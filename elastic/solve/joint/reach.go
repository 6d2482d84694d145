package joint

import "slices"

// reachable reports whether the plan can be carried out one job after the other, each on GPUs
// that are free at its turn, so that no jobs wait for each other in a circle. A job that finds
// no room waits at the node that lacks it until a job leaves there; so each is checked once per
// node that stops it.
//
// For example, with all GPUs in use, job a goes from node 0 to node 1 and job b from node 1 to node
// 0: each waits for the other, and the plan is not reachable, since a job moves only once.
//
// One order is tried, the last of the ready jobs first. Where an early arrival takes room that
// another job needs sooner, a plan that some other order would reach is rejected.
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

// CanReach reports whether a plan that fits can be carried out one job after the other. It
// leaves the search at that plan.
//
// Only the places are: the nodes and the values stay as they were. BEFORE the next Change the
// caller MUST call Resume, Build or Improve.
func (s *Search) CanReach(places [][]Share) bool {
	copy(s.places, places)
	return s.reachable()
}

// road is the nodes while a plan is carried out on paper.
// Its memory is reused for each plan of the search.
type road struct {
	now, then []stand // with every job where it is, and as the plan is carried out
	has, had  byType  // of then, and of now
	ready     []int32
	queue     []int32 // by node: the first of the jobs that wait there; -1 = none
	next      []int32 // by job: the job that waits behind it
	left      int     // number of movers that have not moved
}

// stand is what is free on a node.
// spans is the number of jobs there that run on several nodes; mem is in MB.
type stand struct {
	free, spans, cpus int
	mem               int64
}

// start puts all jobs where they are now and lists those that the plan moves. The nodes before any
// move are the same for every plan, so they are counted once.
func (r *road) start(s *Search) {
	if r.now == nil {
		r.survey(s)
	}
	copy(r.then, r.now)
	r.has.set(r.had)
	for n := range r.queue {
		r.queue[n] = -1
	}
	r.ready, r.left = r.ready[:0], 0
	for i := range s.p.Jobs {
		if !sameShares(s.p.Jobs[i].Now, s.places[i]) {
			r.ready = append(r.ready, int32(i))
			r.left++
		}
	}
}

// survey records the nodes before any job moves.
func (r *road) survey(s *Search) {
	count := len(s.p.Nodes)
	r.now, r.then = make([]stand, count), make([]stand, count)
	r.queue, r.next = make([]int32, count), make([]int32, len(s.p.Jobs))
	r.has, r.had = newByType(s.p), newByType(s.p)
	for n := range s.p.Nodes {
		r.then[n] = s.p.Nodes[n].stand()
	}
	for i := range s.p.Jobs {
		r.put(&s.p.Jobs[i], s.p.Jobs[i].Now, 1)
	}
	copy(r.now, r.then)
	r.had.set(r.has)
}

// sameShares reports whether two places are the same; most share their memory.
func sameShares(a, b []Share) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// put adds a job's shares to their nodes (sign 1) or takes them off (-1).
func (r *road) put(j *Job, place []Share, sign int) {
	for _, sh := range place {
		n := &r.then[sh.Node]
		n.free -= sign * sh.GPUs
		n.cpus -= sign * j.cpusFor(sh.GPUs)
		n.mem -= int64(sign) * int64(sh.GPUs) * j.MemPerGPUMB
		r.has.take(j, sh.Node, sign*sh.GPUs)
		if len(place) > 1 {
			n.spans += sign
		}
	}
}

// stopped returns the node without room for a mover now; -1 if there is none. What it keeps of
// its own blocks no job.
func (r *road) stopped(s *Search, i int) int {
	j := &s.p.Jobs[i]
	r.put(j, j.Now, -1)
	defer r.put(j, j.Now, 1)
	for _, sh := range s.places[i] {
		n := &r.then[sh.Node]
		switch {
		case len(s.places[i]) > 1 && !s.p.Share && !j.Mixes && n.spans > 0:
			return sh.Node
		case sh.GPUs > 0 && on(j.Now, sh.Node) >= sh.GPUs:
		case r.has.left(j, sh.Node, n.free) < sh.GPUs || n.cpus < j.cpusFor(sh.GPUs) || j.MemPerGPUMB > 0 && n.mem < int64(sh.GPUs)*j.MemPerGPUMB:
			return sh.Node
		}
	}
	return -1
}

// on returns the GPUs of a place on one node; 0 if the place does not include it.
func on(place []Share, node int) int {
	for _, sh := range place {
		if sh.Node == node {
			return sh.GPUs
		}
	}
	return 0
}

// depart moves a job and checks those again that waited where it was.
// Whether they have room now is not known: stopped decides, and lets them wait again.
func (r *road) depart(s *Search, i int) {
	r.put(&s.p.Jobs[i], s.p.Jobs[i].Now, -1)
	r.put(&s.p.Jobs[i], s.places[i], 1)
	r.left--
	for _, sh := range s.p.Jobs[i].Now {
		for k := r.queue[sh.Node]; k >= 0; k = r.next[k] {
			r.ready = append(r.ready, k)
		}
		r.queue[sh.Node] = -1
	}
}
