package bound

import "math"

// tries bounds the worths looked at for one reply.
const tries = 14

// replier works out what tasks do at given prices, one after the other in the
// same memory.
type replier struct {
	m     *market
	near  float64 // how far, relatively, a reply may stay below the exact one
	paths []*path
	n     int // paths in use
	low   []float64
	lo    int // first slot the task can end in
}

// point is an end within a slot: at share of its length.
type point struct {
	slot  int
	share float64
	value float64
}

// of returns a lower bound, near the exact value, on what the task pays at the
// market's prices: its completion time plus the price of its GPU-seconds, least
// over all schedules. It adds to used the GPUs by slot of a mix of schedules that
// pay about that.
func (r *replier) of(t *task, used []float64) float64 {
	ceiling := r.ceiling(t)
	r.start(t, ceiling)
	worths := t.worth
	if len(worths) == 0 {
		worths = []float64{ceiling / t.work}
	}
	for _, w := range worths {
		r.walk(t, w, ceiling)
	}
	p := r.lowest()
	for r.n < tries {
		w, ok := r.better(t, p)
		if !ok {
			break
		}
		r.walk(t, w, ceiling)
		p = r.lowest()
	}
	r.use(t, p, used)
	return math.Min(p.value, ceiling)
}

// ceiling is what the best schedule pays that never changes its size and starts at
// once, or, where it may, when GPUs have become free of charge: no reply is above it.
func (r *replier) ceiling(t *task) float64 {
	least := math.Inf(1)
	if !t.prompt {
		least = r.free(t) - t.submit
	}
	before := r.m.until(t.begin(r.m) - 1)
	for _, s := range t.menu {
		stop := t.first + t.restart + t.work/s.speed
		least = math.Min(least, stop-t.submit+s.gpus*(r.m.until(int(stop/r.m.slot))-before))
	}
	return least
}

// free is the end of a task that begins to work when the price of GPUs has fallen to 0. No
// end is later: a task that is not done by then continues at its highest speed.
func (r *replier) free(t *task) float64 {
	return math.Max(t.first, float64(len(r.m.price))*r.m.slot) + t.restart + t.work/t.menu.best().speed
}

// start makes room for the slots in which the cheapest end may be.
func (r *replier) start(t *task, ceiling float64) {
	begin := t.begin(r.m)
	r.lo = max(int(t.quickest()*(1-1e-12)/r.m.slot)-begin, 0)
	last := math.Min(t.submit+ceiling, r.free(t))
	n := max(int(math.Ceil(last/r.m.slot))-begin, r.lo+1)
	r.n = 0
	r.low = fit(r.low, n)
	for i := range r.low {
		r.low[i] = math.Inf(-1)
	}
}

// walk adds the path of one worth. It leaves out the last slots when no end in them
// can be the cheapest any more.
func (r *replier) walk(t *task, worth, ceiling float64) {
	n := len(r.low)

	if r.n == len(r.paths) {
		r.paths = append(r.paths, &path{})
	}
	p := r.paths[r.n]
	r.n++
	p.walk(t, r.m, worth, n)
	for i := r.lo; i < n; i++ {
		r.low[i] = math.Max(r.low[i], math.Min(p.soon[i].value, p.late[i].value))
	}
	for n > r.lo+1 && r.low[n-1] >= ceiling {
		n--
	}
	r.low = r.low[:n]
}

// lowest finds the end that is cheapest when each is charged the dearest of the
// paths, which are all lower bounds.
func (r *replier) lowest() point {
	best := point{value: math.Inf(1)}
	for i := r.lo; i < len(r.low); i++ {
		if r.low[i] < best.value {
			if p := r.envelope(i); p.value < best.value {
				best = p
			}
		}
	}
	return best
}

// envelope is the lowest point within the slot of the highest of the lines that
// the paths draw from its start to its end.
func (r *replier) envelope(i int) point {
	left, right := r.paths[0], r.paths[0]
	for _, p := range r.paths[1:r.n] {
		if p.soon[i].value > left.soon[i].value {
			left = p
		}
		if p.late[i].value > right.late[i].value {
			right = p
		}
	}
	switch {
	case left.late[i].value >= left.soon[i].value:
		return point{i, 0, left.soon[i].value}
	case right.soon[i].value >= right.late[i].value:
		return point{i, 1, right.late[i].value}
	}
	for range r.n {
		x := cross(left, right, i)
		top, v := left, left.line(i, x)
		for _, p := range r.paths[:r.n] {
			if w := p.line(i, x); w > v*(1+1e-12) {
				top, v = p, w
			}
		}
		switch {
		case top == left || top == right:
			return point{i, x, v}
		case top.late[i].value < top.soon[i].value:
			left = top
		default:
			right = top
		}
	}
	return point{i, 0.5, r.low[i]} // rounding: what holds without looking closer
}

// cross is where the falling line of left meets the rising one of right.
func cross(left, right *path, i int) float64 {
	gap := left.soon[i].value - right.soon[i].value
	fall := left.soon[i].value - left.late[i].value
	rise := right.late[i].value - right.soon[i].value
	return math.Min(math.Max(gap/(fall+rise), 0), 1)
}

// line is the path's bound on an end at a share of slot i.
func (p *path) line(i int, share float64) float64 {
	return (1-share)*p.soon[i].value + share*p.late[i].value
}

// short is the work missing on the path for that end; negative when there is more
// than needed.
func (p *path) short(i int, share, work float64) float64 {
	return work - (1-share)*p.soon[i].work - share*p.late[i].work
}

// around returns the paths that hold the bound at a point from both sides: the one
// of the highest worth that works too little and of the lowest that works enough.
func (r *replier) around(t *task, at point) (little, enough *path) {
	for _, p := range r.paths[:r.n] {
		if p.short(at.slot, at.share, t.work) > 0 {
			if little == nil || p.worth > little.worth {
				little = p
			}
		} else if enough == nil || p.worth < enough.worth {
			enough = p
		}
	}
	return little, enough
}

// better proposes a worth at which the bound at the point may be higher: where the
// tangents of the two paths around it meet. It returns false when that is not
// noticeably above what is known.
func (r *replier) better(t *task, at point) (float64, bool) {
	little, enough := r.around(t, at)
	switch {
	case little == nil:
		return enough.worth / 2, enough.worth > 1e-9*at.value/t.work
	case enough == nil:
		return little.worth * 2, true
	}
	a, b := little.line(at.slot, at.share), enough.line(at.slot, at.share)
	up, down := little.short(at.slot, at.share, t.work), -enough.short(at.slot, at.share, t.work)
	if up+down <= 0 {
		return 0, false
	}
	w := (b - a + up*little.worth + down*enough.worth) / (up + down)
	top := a + up*(w-little.worth)
	if top-at.value <= r.near*math.Abs(at.value) || !(w > little.worth && w < enough.worth) {
		return 0, false
	}
	return w, true
}
