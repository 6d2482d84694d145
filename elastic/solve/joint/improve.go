package joint

import (
	"math/rand/v2"
	"slices"
)

// Improve starts from a plan: moves times it takes one to three jobs off the cluster and puts
// them back at other sizes, and keeps what raises the sum of values and can be carried out. It
// ends early if nothing can raise it. The plan MUST fit the problem.
//
// The result is reachable if from is, or if one move was kept. The same problem, plan, moves and
// state of rng give the same result. A move costs the places it searches and, if it gains, one
// check of reachable. ceiling and Tops are compared at the start and after each move that is kept.
func (s *Search) Improve(from Plan, moves int, rng *rand.Rand) Plan {
	s.Resume(from)
	t := trial{s: s, rng: rng}
	for kept := true; moves > 0; moves-- {
		if kept && (s.Tops() || s.ceiling()-s.sum() < leastGain/10) {
			break
		}
		kept = t.once()
	}
	return s.Plan()
}

// Tops reports whether every job has the most valuable of all its places: then no other plan
// has a larger value.
// It is of the plan that the search is at, and true for a problem without jobs.
func (s *Search) Tops() bool {
	for i := range s.p.Jobs {
		if s.value[i] < s.most.each[i] {
			return false
		}
	}
	return true
}

// Worth returns the value of a place for a job; 0 for none, and for one that it does not
// accept.
// Of several options that the place satisfies it is the first listed, which has the largest value.
func (p *Problem) Worth(i int, place []Share) float64 {
	j := &p.Jobs[i]
	if sameShares(place, j.Now) {
		return j.Stay
	}
	for _, o := range j.At(held(place)) {
		if (o.Loose && len(o.Split) == len(place) || sameSplit(o.Split, place)) && (o.Of == 0 || p.in(place, j.Groups[o.Of-1])) {
			return o.Value
		}
	}
	return 0
}

// in reports whether all nodes of a place are in a group of classes.
func (p *Problem) in(place []Share, group []int) bool {
	for _, s := range place {
		if !slices.Contains(group, p.Nodes[s.Node].Class) {
			return false
		}
	}
	return true
}

// sameSplit reports whether a place has the shares of a split, in any order.
func sameSplit(split []int, place []Share) bool {
	if len(split) != len(place) {
		return false
	}
	same := true
	for k, s := range place {
		same = same && split[k] == s.GPUs
	}
	if same {
		return true
	}
	left := slices.Clone(split)
	for _, s := range place {
		k := slices.Index(left, s.GPUs)
		if k < 0 {
			return false
		}
		left = slices.Delete(left, k, k+1)
	}
	return true
}

// leastGain is the smallest gain of a move: less is rounding.
const leastGain = 1e-12

// trial is the state of one move.
// picked are the jobs of the move, of which draw says how many count.
type trial struct {
	s      *Search
	rng    *rand.Rand
	picked [3]int
}

// once tries one move and reports whether it was kept. The jobs are put back in the order in
// which they were drawn.
func (t *trial) once() bool {
	c, n := t.s.Begin(), t.draw()
	for _, i := range t.picked[:n] {
		c.Off(i)
	}
	for k, i := range t.picked[:n] {
		if size := t.size(i, held(c.was[k])); size > 0 {
			c.Best(i, size)
		}
	}
	if before, after, ok := c.sums(); !ok || after <= before+leastGain*max(1, before) || !t.s.reachable() {
		c.Undo()
		return false
	}
	return true
}

// draw picks one to three different jobs.
// There MUST be at least one job.
func (t *trial) draw() int {
	jobs := len(t.s.p.Jobs)
	n := 1 + t.rng.IntN(min(3, jobs))
	for k := 0; k < n; {
		t.picked[k] = t.rng.IntN(jobs)
		if !slices.Contains(t.picked[:k], t.picked[k]) {
			k++
		}
	}
	return n
}

// size draws a size for a job near its present one: its size on the cluster or in the plan, a
// step up or down, double, half, four more or less, or the one with the largest value in what
// is free.
func (t *trial) size(i, now int) int {
	j := &t.s.p.Jobs[i]
	if len(j.Sizes) == 0 {
		return 0
	}
	switch t.rng.IntN(9) {
	case 0:
		return now
	case 1:
		return held(j.Now)
	case 2:
		return j.Step(now, 1)
	case 3:
		return j.Step(now, -1)
	case 4:
		return j.Nearest(2 * now)
	case 5:
		return j.Nearest(now / 2)
	case 6:
		return j.Nearest(now + 4)
	case 7:
		return j.Nearest(now - 4)
	}
	return t.s.fullest(i)
}

// Step returns the next accepted size above or below n; n if there is none, 0 below the
// smallest if the job may be without GPUs.
// Only the sign of by counts.
func (j *Job) Step(n, by int) int {
	if by > 0 {
		for _, s := range j.Sizes {
			if s.GPUs > n {
				return s.GPUs
			}
		}
		return n
	}
	for _, s := range slices.Backward(j.Sizes) {
		if s.GPUs < n {
			return s.GPUs
		}
	}
	if j.Must {
		return n
	}
	return 0
}

// Nearest returns the largest accepted size up to n, else the smallest.
// The job MUST have a size.
func (j *Job) Nearest(n int) int {
	for _, s := range slices.Backward(j.Sizes) {
		if s.GPUs <= n {
			return s.GPUs
		}
	}
	return j.Sizes[0].GPUs
}

// Smallest returns the smallest accepted size; 0 if there is none.
func (j *Job) Smallest() int {
	if len(j.Sizes) == 0 {
		return 0
	}
	return j.Sizes[0].GPUs
}

// fullest returns the size with the largest value in what is free now; 0 if none fits. The job
// MUST be off the nodes.
// Sizes are tried by their largest value; the first whose largest is not above what was found ends
// the search.
func (s *Search) fullest(i int) int {
	size, most := 0, 0.0
	j := &s.p.Jobs[i]
	defer s.drop(s.shares)
	if at, ok := s.place(i, held(j.Now)); ok {
		size, most = held(j.Now), at.value
	}
	for _, k := range s.dear[i] {
		n := &j.Sizes[k]
		if n.Options[0].Value <= most {
			break
		}
		if at, ok := s.place(i, n.GPUs); ok && at.value > most {
			size, most = n.GPUs, at.value
		}
	}
	return size
}
