package deadline

import (
	"cmp"
	"math"
	"slices"
)

// Plan is the answer for every job.
// Its slices have one entry for each job, in the order given, and belong to the caller.
type Plan struct {
	GPUs []int // GPUs of each job from now on
	// Least is what admitted jobs need at once to meet their deadlines; GPUs may give them
	// more.
	Least []int
	// Promised says which jobs are admitted: earlier admissions, as long as they can be kept,
	// and new ones.
	Promised []bool
	// Soonest is when a job whose deadline cannot be met could end, as far as is known; +Inf if
	// that is not known, 0 for other jobs.
	Soonest []float64
	// tight marks admitted jobs that have no time to spare.
	tight []bool
}

const (
	// margin is the share of the time to its deadline that a job is planned to have left when
	// it ends, beside the cost of a move: speeds and costs are estimates.
	margin = .02
	// linger is how many more rounds ahead a job with GPUs is planned to be.
	linger = 10
	// tries bounds for how many jobs a decision checks whether they fit among the admitted jobs
	// rather than behind them: each check is a plan of its own.
	tries = 8
	// looks bounds how many jobs all of these plans recompute.
	looks = 2000
	// beyond is how far beyond the last deadline the future extends at least, in seconds.
	beyond = 24 * 3600.0
)

// Decide divides the GPUs. It is called at the time now, in seconds since any fixed moment, and
// again every round seconds. Later arrivals cannot revoke an admission; only a loss of GPUs
// can.
//
// Jobs that rest keep what they have, unless that would break an earlier admission that can be
// kept otherwise. A new admission does not justify that: its job waits until they have rested.
//
// round MUST be above 0. now MUST be from the same clock in every call: it sets where the future is
// divided. The jobs are not changed.
func Decide(jobs []Job, gpus int, now, round float64) Plan {
	free := decide(jobs, gpus, now, round)
	calm := slices.Clone(jobs)
	wait := 0.0
	for i := range calm {
		j := &calm[i]
		if j.Rests = j.Rests && j.Promised && !j.Settled && slices.Contains(j.Sizes, j.Now); j.Rests {
			j.Settled, wait = true, max(wait, j.Until, round)
		}
	}
	if wait == 0 {
		return free
	}
	// Places may be scarcer than numbers of GPUs: a waiting job keeps some time to spare.
	early := slices.Clone(calm)
	for i := range early {
		early[i].Due -= wait + 2*early[i].Price
	}
	plan := decide(calm, gpus, now, round)
	for _, p := range []Plan{plan, decide(early, gpus, now, round)} {
		for i := range jobs {
			if jobs[i].Promised && free.Promised[i] && (!p.Promised[i] || p.tight[i] && !free.tight[i]) {
				return free
			}
		}
	}
	for i := range calm {
		if calm[i].Rests { // GPUs it could manage with
			plan.Least[i] = min(plan.Least[i], free.Least[i])
		}
	}
	return plan
}

// decide is Decide without jobs that rest. Each step takes from what the one before left: earlier
// admissions, then new ones, then minimums of jobs that queue, then what saves most.
func decide(jobs []Job, gpus int, now, round float64) Plan {
	p := newPlanning(jobs, gpus, now, round)
	p.keepPromises()
	p.promise()
	p.look()
	p.serve()
	p.spend()
	return p.plan
}

// planning is a plan under construction.
type planning struct {
	jobs   []Job
	now    *future  // all GPUs, except the minimum of jobs that may not be stopped
	free   *future  // what the admitted jobs leave
	next   *future  // what they leave after this round
	order  []int    // admitted jobs, in the order in which they are planned for
	course []course // by job, for those in order
	broken int      // number of admissions that cannot be kept
	left   int      // GPUs that no job has now
	round  float64
	plan   Plan
}

// newPlanning returns a plan in which each job has what no other can take from it.
func newPlanning(jobs []Job, gpus int, now, round float64) *planning {
	p := &planning{jobs: make([]Job, len(jobs)), course: make([]course, len(jobs)), round: round}
	p.plan = Plan{GPUs: make([]int, len(jobs)), Promised: make([]bool, len(jobs)), Soonest: make([]float64, len(jobs)), tight: make([]bool, len(jobs))}
	horizon := round
	for i, j := range jobs {
		p.jobs[i] = j.rising()
		if !math.IsInf(j.Due, 1) {
			horizon = max(horizon, j.Due)
		}
	}
	p.now = newFuture(gpus, now, round, horizon+beyond)
	for i := range p.jobs {
		p.hold(p.now, i, 1)
		p.plan.GPUs[i] = p.has(i)
	}
	return p
}

// hold reserves for a job what no other job can take from it, or returns it if times is -1: its
// minimum if it may not be stopped, and what it has if that is settled.
func (p *planning) hold(f *future, i, times int) {
	j := &p.jobs[i]
	least := 0
	if j.Keeps {
		least = j.Sizes[0]
		f.take(times*least, j.rest())
	}
	for s := 0; s < len(f.free) && j.stuck(s, f.at[s]); s++ {
		f.free[s] -= times * (p.has(i) - least)
	}
}

// has returns what no other job can take from a job now.
func (p *planning) has(i int) int {
	j := &p.jobs[i]
	if j.Settled {
		return j.gpus(j.under(j.Now))
	}
	return j.gpus(j.floor())
}

// keepPromises plans for the admitted jobs, earliest deadline first.
func (p *planning) keepPromises() {
	for i := range p.jobs {
		if p.jobs[i].Promised {
			p.order = append(p.order, i)
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(p.jobs[a].Due, p.jobs[b].Due) })
	p.free = p.now.clone()
	for _, i := range p.order {
		if !p.add(p.free, i) {
			p.broken++
		}
	}
	for _, i := range slices.Clone(p.order) {
		if !p.plan.Promised[i] {
			p.rescue(i)
		}
	}
}

// rescue plans a job without a share in its turn earlier, as much earlier as it takes for fewer
// admissions to break.
func (p *planning) rescue(i int) {
	at := slices.Index(p.order, i)
	for to := at - 1; to >= max(0, at-tries); to-- {
		if p.replan(slices.Insert(slices.Delete(slices.Clone(p.order), at, at+1), to, i), to, p.broken-1) {
			return
		}
	}
}

// replan plans in another order, which is the old one up to from, if that breaks at most as
// many admissions.
// On false nothing is changed.
func (p *planning) replan(order []int, from, most int) bool {
	free, plan, course := p.free.clone(), p.plan.clone(), slices.Clone(p.course)
	broken := 0
	for at, i := range p.order {
		switch {
		case at < from && !p.plan.Promised[i]:
			broken++
		case at >= from && p.plan.Promised[i]:
			p.drop(free, i)
		}
	}
	for _, i := range order[from:] {
		if !p.add(free, i) {
			if broken++; broken > most {
				p.plan, p.course = plan, course
				return false
			}
		}
	}
	p.order, p.free, p.broken = order, free, broken
	return true
}

// drop returns what a job was planned to have.
func (p *planning) drop(free *future, i int) {
	j := &p.jobs[i]
	for s, k := range p.course[i] {
		free.free[s] += j.gpus(k)
	}
	p.hold(free, i, 1)
}

// add plans for one more job on what is free.
// What is held for the job counts as free for itself; on false it is held again.
func (p *planning) add(free *future, i int) bool {
	j := &p.jobs[i]
	p.hold(free, i, -1)
	c, tight := p.find(free, j)
	if c == nil {
		p.hold(free, i, 1)
		p.plan.Promised[i], p.plan.GPUs[i] = false, p.has(i)
		return false
	}
	p.course[i] = c
	free.give(j, c)
	p.plan.Promised[i], p.plan.GPUs[i], p.plan.tight[i] = true, j.gpus(c[0]), tight
	return true
}

// find returns a share with which the job ends some time before its deadline. A job with GPUs
// aims to be earlier still, so that it is not stopped and started in turn; an admitted job that
// is late gets what it needs at once.
func (p *planning) find(free *future, j *Job) (_ course, tight bool) {
	early := *j
	early.Due = j.aim()
	c := free.share(&early)
	switch {
	case c == nil && j.Promised:
		return free.soon(free.share(j), j), true
	case c == nil || j.Now == 0 || !j.Promised:
		return c, false
	}
	ahead := early
	ahead.Due -= max(linger*p.round, 10*j.Price)
	if d := free.share(&ahead); d != nil && slices.Max(d) == slices.Max(c) {
		return d, false
	}
	return c, false
}

// promise admits further jobs where possible: first behind all admitted jobs, then, for a few,
// among them if no other admission breaks.
func (p *planning) promise() {
	for _, i := range p.undecided() {
		if p.add(p.free, i) {
			p.order = append(p.order, i)
		}
	}
	late, left := p.undecided(), looks
	for _, i := range late[:min(tries, len(late))] {
		at := slices.IndexFunc(p.order, func(k int) bool { return p.jobs[k].Due > p.jobs[i].Due })
		if left -= len(p.order) - at; at >= 0 && left >= 0 {
			p.replan(slices.Insert(slices.Clone(p.order), at, i), at, p.broken)
		}
	}
}

// undecided returns the jobs with a deadline that are not admitted and could be, least work
// first.
func (p *planning) undecided() []int {
	var out []int
	for i := range p.jobs {
		if j := &p.jobs[i]; !p.plan.Promised[i] && !j.Promised && !j.Turned && !math.IsInf(j.Due, 1) && p.now.share(j) != nil {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(p.jobs[a].least(), p.jobs[b].least()) })
	return out
}

// look sets when the jobs that are not admitted could end.
func (p *planning) look() {
	for i := range p.jobs {
		if j := &p.jobs[i]; !p.plan.Promised[i] && !math.IsInf(j.Due, 1) {
			p.plan.Soonest[i] = p.free.soonest(j)
		}
	}
}

// clone returns a plan that does not change with a; Least is not set yet when it is called.
func (a Plan) clone() Plan {
	return Plan{GPUs: slices.Clone(a.GPUs), Promised: slices.Clone(a.Promised), Soonest: slices.Clone(a.Soonest), tight: slices.Clone(a.tight)}
}
