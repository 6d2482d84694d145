package sweeps

import "math"

// Constants of ease.ml: the confidence of its bounds, and after how many steps without another set
// of candidates it goes over to round robin.
const (
	easeDelta = .1
	easeSteps = 10
)

// Hybrid is ease.ml's HYBRID (Li, Zhong, Liu, Wu and Zhang, Ease.ml: Towards Multi-tenant Resource
// Sharing for Machine Learning Workloads, VLDB 2018, algorithms 2 and section 4.4), rebuilt: a GPU that is
// free goes to the user with the largest gap between its upper confidence bound and its best
// result, among those whose recurrent bound is at least the average (GREEDY); once the set of
// candidates has stayed the same for 10 steps, users take turns. As there, running trials are
// never taken away. The model of a user's next result is the normal distribution of its results
// so far: all contenders draw configurations in the same random order, so no model over them
// would be asked which comes next.
func Hybrid() Policy {
	h := &hybrid{users: map[*Sweep]*easeUser{}}
	return Policy{Divide: h.divide}
}

type hybrid struct {
	users  map[*Sweep]*easeUser
	before string // the candidates of the last step
	same   int
	turn   int
	steps  int
}

type easeUser struct {
	results int
	bound   float64 // B: the least upper bound so far
	sigma   float64 // bound minus the newest result
}

func (h *hybrid) divide(sweeps []*Sweep, wants []int, gpus int) []int {
	lanes := make([]int, len(sweeps))
	left := gpus
	for i, s := range sweeps {
		lanes[i] = min(s.Lanes, wants[i])
		left -= lanes[i]
		h.learn(s)
	}
	for ; left > 0; left-- {
		i := h.pick(sweeps, wants, lanes)
		if i < 0 {
			break
		}
		lanes[i]++
	}
	return lanes
}

// learn updates the recurrent bound: the smaller of the new bound and the old one.
func (h *hybrid) learn(s *Sweep) {
	u := h.users[s]
	if u == nil {
		u = &easeUser{bound: math.Inf(1), sigma: math.Inf(1)}
		h.users[s] = u
	}
	for ; u.results < len(s.Results); u.results++ {
		h.steps++
		y := s.Results[u.results]
		u.bound = min(u.bound, h.upper(s, u.results+1))
		u.sigma = u.bound - y
	}
}

// upper is the upper confidence bound of the next result after n of them; percent.
func (h *hybrid) upper(s *Sweep, n int) float64 {
	if n < 2 {
		return 100
	}
	sum, squares := 0., 0.
	for _, y := range s.Results[:n] {
		sum += y
		squares += y * y
	}
	mean := sum / float64(n)
	t := float64(h.steps + 1)
	beta := 2 * math.Log(math.Pi*math.Pi*float64(len(h.users)*s.Trials)*t*t/(6*easeDelta))
	cost := s.Seconds / float64(max(s.Stopped, 1))
	scale := math.Max(cost/h.cost(), .01)
	return mean + math.Sqrt(beta/scale*math.Max(squares/float64(n)-mean*mean, 0))
}

// cost is the mean cost of a trial, of all users.
func (h *hybrid) cost() float64 {
	seconds, stopped := 0., 0
	for s := range h.users {
		stopped += s.Stopped
	}
	for _, s := range sorted(h.users) {
		seconds += s.Seconds
	}
	return math.Max(seconds/float64(max(stopped, 1)), 1)
}

// pick is the user for a free GPU.
func (h *hybrid) pick(sweeps []*Sweep, wants, lanes []int) int {
	open := func(i int) bool { return lanes[i] < wants[i] }
	sum, known := 0., 0
	for i, s := range sweeps {
		if u := h.users[s]; !open(i) {
			continue
		} else if math.IsInf(u.sigma, 1) && lanes[i] == 0 {
			return i // every user is served once
		} else if !math.IsInf(u.sigma, 1) {
			sum += u.sigma
			known++
		}
	}
	best, gap, candidates := -1, math.Inf(-1), ""
	for i, s := range sweeps {
		u := h.users[s]
		if !open(i) || known == 0 || math.IsInf(u.sigma, 1) || u.sigma < sum/float64(known) {
			continue
		}
		candidates += string(rune('A' + s.Order))
		if g := h.upper(s, len(s.Results)) - s.Best[0]; g > gap {
			best, gap = i, g
		}
	}
	if candidates == h.before {
		h.same++
	} else {
		h.before, h.same = candidates, 0
	}
	if best < 0 || h.same >= easeSteps {
		return h.next(sweeps, open)
	}
	return best
}

// next is the user whose turn it is.
func (h *hybrid) next(sweeps []*Sweep, open func(int) bool) int {
	for range sweeps {
		h.turn = (h.turn + 1) % len(sweeps)
		if open(h.turn) {
			return h.turn
		}
	}
	return -1
}
