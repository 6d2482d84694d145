package greedy

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// A published policy divides a number of GPUs among jobs and does not say on which nodes. It
// counts neither the cost of a resize nor the site's payback. The code below tells such a rule
// how many GPUs there are, and carries its answer out as far as the nodes allow.

// rule divides GPUs among the parts, which are in order of arrival. Each part starts at its
// smallest size; together these fit. A rule raises them, by part.at, to at most gpus in all. gpus
// includes what the parts have now. A rule MUST change nothing of a part but at, and MUST NOT
// lower it. parts may be empty: a rule that plans ahead (bind) is then asked for its plan only.
type rule func(parts []part, gpus int)

// part is one job in a division.
type part struct {
	*job
	index int   // in the round
	sizes []int // sizes it may get, ascending, at least one; 0 first if it may get none
	at    int   // what it gets: index into sizes
	// pace caches unit, by index into sizes; 0 = not computed, since no unit takes 0 s.
	pace []float64
}

// size is what the part gets.
func (p *part) size() int { return p.sizes[p.at] }

// more returns how many GPUs the next size adds, false if there is none.
func (p *part) more() (gpus int, ok bool) {
	if p.at+1 >= len(p.sizes) {
		return 0, false
	}
	return p.sizes[p.at+1] - p.sizes[p.at], true
}

// unit returns the seconds a unit of work takes on the k-th size: +Inf on none.
func (p *part) unit(k int) float64 {
	if p.pace == nil {
		p.pace = make([]float64, len(p.sizes))
	}
	if p.pace[k] == 0 {
		p.pace[k] = p.job.packed(p.sizes[k])
	}
	return p.pace[k]
}

// atMost returns the index of the largest size up to n; 0, the smallest, if none is. Of the sizes
// 2, 4 and 8, atMost(5) is 1, atMost(8) is 2 and atMost(1) is 0.
func (p *part) atMost(n int) int {
	k, found := slices.BinarySearch(p.sizes, n)
	if !found {
		k--
	}
	return max(0, k)
}

// packed returns the seconds per unit of work on n GPUs of as few nodes as possible, which is
// what published policies assume whatever the job runs on now. A size without a split counts as if
// it were on one node: rules compare sizes, carry places them.
func (j *job) packed(n int) float64 {
	if n < 1 {
		return math.Inf(1)
	}
	if j.Spec.AllowUneven && j.Curve.Exact() {
		seconds, _ := j.Curve.Split(j.pool.fullest(n))
		return seconds
	}
	s := speed.Shape{GPUs: n, Nodes: 1}
	if j.pool.splits(n) {
		s.Nodes = j.pool.spread[n]
	}
	seconds, _ := j.Curve.Seconds(s)
	return seconds
}

// asked returns the accepted size nearest to what the user requested, not above it if possible;
// the pin if there is one. Without a request (Asked is 0) it is the minimum. The nodes may have no
// split of the result if it is the pin or the minimum, so a caller that plans with it MUST ask
// pool.splits first.
func (j *job) asked() int {
	if j.Pin > 0 {
		return j.Pin
	}
	size := j.Spec.Min
	for _, n := range j.sizes {
		if n <= j.Asked {
			size = n
		}
	}
	return size
}

// division is a published policy.
type division struct {
	// rule is not used if bind is set.
	rule rule
	// bind, if set, returns the rule for a group of jobs, given those that keep what they have
	// and are planned for (by plans).
	bind  func(settled []part) rule
	plans func(*job) bool
	stops bool // it stops jobs, if the site allows it
	// starts: it also decides which jobs are started, and in which order.
	starts bool
	rigid  bool // jobs get the size that their user requested, or none
	// because returns why a job gets what it gets.
	because func(w *reasons, j *job) reason.Reason
	// waits, if set, returns why a job waits for which there may be GPUs; nil if it does not
	// know.
	waits func(w *reasons, j *job) reason.Reason
}

// allocate is a round of a division. If jobs may be stopped, any may get none; else waiting
// jobs are first started at their minimum in order of arrival, and the rest is divided.
//
// The ORDER: pins give GPUs back before waiting jobs start on them, ordinary jobs get room before
// pins grow, and the rule divides what is left. A rigid division changes no size of a running job,
// so that it serves no pin of one and keeps no room for ordinary jobs.
func (d division) allocate(s elastic.Snapshot) elastic.Allocation {
	d.stops = d.stops && s.Limits.Preempt
	r := newRound(s)
	if !d.rigid {
		r.shrinkToPins()
	}
	if !d.stops && !d.starts {
		r.startWaiting()
	}
	if !d.rigid {
		r.reserveForOrdinary()
		r.growToPins()
	}
	r.divide(d)
	return r.decide(func(i int) reason.Reason { return r.divisionReason(d, i) })
}

// divide lets the rule divide the idle GPUs and those of jobs that may be resized, for each
// group of jobs that share nodes.
//
// A rule is told numbers of GPUs only. So its answer may not fit the nodes, and carry plans what
// does. While rigid is set a trial gives a job its whole size or nothing; postpone clears it.
func (r *round) divide(d division) {
	t := r.try(r.size, r.wants)
	want := slices.Clone(r.size)
	choices := make([][]int, len(r.jobs))
	var divided []*pool // pools of the jobs that a rule decided about
	for i := range r.jobs {
		choices[i] = r.choices(i, d)
	}
	for _, group := range r.groups(func(i int) bool { return choices[i] != nil }) {
		parts := make([]part, len(group))
		pools := make([]*pool, len(group))
		gpus := 0
		for k, i := range group {
			parts[k] = part{job: &r.jobs[i], index: i, sizes: choices[i]}
			pools[k] = r.jobs[i].pool
			gpus += r.size[i]
		}
		r.ruled(d, r.settled(d, choices, pools))(parts, gpus+union(pools).free(t.after))
		for k := range parts {
			want[parts[k].index] = parts[k].size()
		}
		divided = append(divided, pools...)
	}
	r.planAlone(d, choices, divided, t)
	if r.rigid = d.rigid; r.rigid {
		defer r.postpone()
	}
	r.carry(want, choices)
}

// ruled returns the rule for one group of jobs.
func (r *round) ruled(d division, settled []part) rule {
	if d.bind != nil {
		return d.bind(settled)
	}
	return d.rule
}

// settled lists the jobs on nodes of the pools that keep what they have and are planned for. A
// pinned job may have no other size later; another one may have any of its sizes.
func (r *round) settled(d division, choices [][]int, pools []*pool) (out []part) {
	for i := range r.jobs {
		j := &r.jobs[i]
		if d.plans == nil || choices[i] != nil || !d.plans(j) || !slices.ContainsFunc(pools, j.pool.meets) {
			continue
		}
		p := part{job: j, index: i, sizes: j.sizes}
		if j.Pin > 0 {
			p.sizes = []int{j.Now}
		}
		out = append(out, p)
	}
	return out
}

// planAlone plans for jobs that keep what they have where nothing is divided. Without it a
// deadline on nodes where no GPU can be divided would not be judged in this round.
func (r *round) planAlone(d division, choices [][]int, divided []*pool, t trial) {
	if d.plans == nil {
		return
	}
	alone := func(i int) bool {
		return choices[i] == nil && d.plans(&r.jobs[i]) && !slices.ContainsFunc(divided, r.jobs[i].pool.meets)
	}
	for _, group := range r.groups(alone) {
		pools := make([]*pool, len(group))
		for k, i := range group {
			pools[k] = r.jobs[i].pool
		}
		r.ruled(d, r.settled(d, choices, pools))(nil, union(pools).free(t.after))
	}
}

// postpone lets waiting jobs wait if their GPUs are still held by jobs that are being stopped
// for them: they would start on fewer. A job that wants its size or nothing would otherwise start
// at a size that its user did not request. Where only numbers count the moves happen at once, and
// no job is postponed.
func (r *round) postpone() {
	if r.rigid = false; r.counts() {
		return
	}
	t := r.try(r.size, r.wants)
	for _, i := range t.short {
		if r.jobs[i].Role == roles.Waiting {
			r.size[i] = 0
		}
	}
}

// choices lists the sizes that the division may give the job; nil if it does not decide about
// it.
//
//	waits, and the division starts or stops jobs:
//	  rigid, or pinned               0 and the requested size; nil if no split of that exists
//	  else                           0 and every accepted size
//	waits, as startWaiting plans it  every accepted size
//	runs and may be moved now        its accepted sizes; a smaller one only if its own nodes have
//	                                 a split of it; 0 too if jobs may be stopped
//	  rigid                          0 and its present size
//	any other job                    nil: it runs and is pinned, is blocked, rests, or is partly
//	                                 on nodes where Slurm starts nothing new
func (r *round) choices(i int, d division) []int {
	j := &r.jobs[i]
	switch {
	case j.Role == roles.Waiting && (d.stops || d.starts) && (d.rigid || j.Pin > 0):
		if j.pool.splits(j.asked()) {
			return []int{0, j.asked()}
		}
		return nil
	case j.Pin > 0 || j.blocked != nil || len(j.sizes) == 0:
		return nil
	case j.Role == roles.Waiting && (d.stops || d.starts || r.size[i] > 0):
	case j.Role == roles.Movable && !r.snap.Resting(&j.Job) && !r.strands(j) && j.sizes[0] <= r.size[i]:
		if d.rigid {
			return []int{0, j.Now}
		}
	default:
		return nil
	}
	var out []int
	if d.stops || d.starts && j.Role == roles.Waiting {
		out = append(out, 0)
	}
	for _, n := range j.sizes {
		if n >= j.Now || n == r.size[i] || j.within(n) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// counts reports whether only the number of GPUs matters, as in the simulators of published
// systems: any split is possible, nodes are shared, and all moves happen at once. One pool means
// that every job may use the same nodes. Then what a rule divides always has a place.
func (r *round) counts() bool {
	return r.snap.Limits.AnySplit() && r.snap.Limits.AtOnce() && r.snap.Limits.ShareNodes && len(r.pools) == 1 && len(r.wants) == 0
}

// carry plans the wanted sizes as nearly as the nodes allow: a job that finds no place gets
// less, and jobs keep what they were to give back for it.
//
// Each pass takes back some growth, so it ends after at most as many trials as GPUs were to be
// added. A reduction may have been for a growth that was taken back: so each one is tried without,
// in order of arrival. If not even the reductions alone fit, size stays as it was.
func (r *round) carry(want []int, choices [][]int) {
	if r.counts() {
		r.size = want
		return
	}
	size, lowered := slices.Clone(want), false
	for !slices.Equal(size, r.size) {
		t := r.try(size, r.wants)
		if t.ok() {
			break
		}
		if lowered = true; !r.lower(size, t, choices) {
			return // no job grows, and still they do not fit: all stay as they were
		}
	}
	for i := range size {
		if less := size[i]; lowered && less < r.size[i] {
			size[i] = r.size[i]
			if !r.try(size, r.wants).ok() {
				size[i] = less
			}
		}
	}
	r.size = size
}

// lower takes back growth for which the trial found no place, else the largest growth. It
// returns false if there is none. It changes size, never to less than the planned r.size.
func (r *round) lower(size []int, t trial, choices [][]int) bool {
	lowered := false
	for k, i := range t.short {
		if size[i] > r.size[i] {
			size[i], lowered = under(choices[i], r.size[i], min(t.got[k], size[i]-1)), true
		}
	}
	if i := r.largestGrowth(size); !lowered && i >= 0 {
		size[i], lowered = under(choices[i], r.size[i], size[i]-1), true
	}
	return lowered
}

// under returns the largest size up to limit, or the planned one if that is larger.
func under(sizes []int, planned, limit int) int {
	for _, n := range sizes {
		if n <= limit {
			planned = max(planned, n)
		}
	}
	return planned
}
