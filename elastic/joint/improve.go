package joint

import (
	"math/rand/v2"
	"slices"
)

// Improve goes on from a plan: moves times it takes one to three jobs off the
// cluster and puts them back at another size, and keeps what raises the sum of
// values and can still be carried out. The plan must fit the problem.
func (s *Search) Improve(from Plan, moves int, rng *rand.Rand) Plan {
	s.clear()
	p := s.p
	for i, place := range from.Places {
		if place != nil {
			s.put(i, spot{place: place, value: p.Jobs[i].worth(place)})
		}
	}
	if len(p.Jobs) == 0 {
		return s.Plan()
	}
	t := trial{s: s, rng: rng}
	for range moves {
		t.once()
	}
	return s.Plan()
}

// worth is the value of a place.
func (j *Job) worth(place []Share) float64 {
	if sameShares(place, j.Now) {
		return j.Stay
	}
	for _, o := range j.at(held(place)) {
		if o.Loose && len(o.Split) == len(place) || sameSplit(o.Split, place) {
			return o.Value
		}
	}
	return 0
}

// sameSplit reports whether a place has the shares of a split, in any order.
func sameSplit(split []int, place []Share) bool {
	if len(split) != len(place) {
		return false
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

// trial is the workspace of one move.
type trial struct {
	s     *Search
	rng   *rand.Rand
	who   [3]int
	was   [3][]Share
	value [3]float64
}

// once tries one move. The order in which the jobs come back is that in which they
// were drawn.
func (t *trial) once() {
	s, n := t.s, t.draw()
	kept := s.shares
	before := 0.0
	for k, i := range t.who[:n] {
		t.was[k], t.value[k] = s.places[i], s.value[i]
		before += s.value[i]
		s.off(i)
	}
	after, ok := 0.0, true
	for _, i := range t.who[:n] {
		size := t.size(i)
		at, found := spot{}, false
		if size > 0 {
			at, found = s.place(i, size)
		}
		switch {
		case found:
			s.put(i, at)
			after += s.value[i]
		case s.p.Jobs[i].Must:
			ok = false
		}
	}
	if ok && after > before+1e-12*max(1, before) && s.reachable() {
		return
	}
	for _, i := range t.who[:n] {
		s.off(i)
	}
	for k, i := range t.who[:n] {
		s.back(i, t.was[k], t.value[k])
	}
	s.drop(kept)
}

// draw picks one to three different jobs.
func (t *trial) draw() int {
	jobs := len(t.s.p.Jobs)
	n := 1 + t.rng.IntN(min(3, jobs))
	for k := 0; k < n; {
		t.who[k] = t.rng.IntN(jobs)
		if !slices.Contains(t.who[:k], t.who[k]) {
			k++
		}
	}
	return n
}

// size draws a size for a job from its neighbours: what it has now on the cluster,
// in the plan, a step up or down, double, half, four more or less, or what is worth
// most in what is free.
func (t *trial) size(i int) int {
	j := &t.s.p.Jobs[i]
	if len(j.Sizes) == 0 {
		return 0
	}
	now := 0
	for k, w := range t.who {
		if w == i {
			now = held(t.was[k])
			break
		}
	}
	switch t.rng.IntN(9) {
	case 0:
		return now
	case 1:
		return held(j.Now)
	case 2:
		return j.step(now, 1)
	case 3:
		return j.step(now, -1)
	case 4:
		return j.nearest(2 * now)
	case 5:
		return j.nearest(now / 2)
	case 6:
		return j.nearest(now + 4)
	case 7:
		return j.nearest(now - 4)
	}
	return t.best(i)
}

// step is the next accepted size above or below.
func (j *Job) step(n, by int) int {
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

// nearest is the largest accepted size up to n, else the smallest.
func (j *Job) nearest(n int) int {
	for _, s := range slices.Backward(j.Sizes) {
		if s.GPUs <= n {
			return s.GPUs
		}
	}
	return j.Sizes[0].GPUs
}

// best is the size that is worth most in what is free now.
func (t *trial) best(i int) int {
	size, most := 0, 0.0
	j := &t.s.p.Jobs[i]
	defer t.s.drop(t.s.shares)
	if at, ok := t.s.place(i, held(j.Now)); ok {
		size, most = held(j.Now), at.value
	}
	for _, k := range t.s.dear[i] {
		s := &j.Sizes[k]
		if s.Options[0].Value <= most {
			break
		}
		if at, ok := t.s.place(i, s.GPUs); ok && at.value > most {
			size, most = s.GPUs, at.value
		}
	}
	return size
}
