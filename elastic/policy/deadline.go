package policy

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// byDeadline promises jobs their deadlines and keeps that by the smallest share that
// does (package deadline). Jobs without one share what is left.
func byDeadline(s elastic.Snapshot) elastic.Allocation {
	return byPools(s, func(s elastic.Snapshot) elastic.Allocation {
		return newDues(s, false).allocate()
	})
}

// elasticflow is the baseline after Gu et al., ElasticFlow, ASPLOS 2023: a job that is
// not promised its deadline in the first decision after it came is not looked at again.
func elasticflow(s elastic.Snapshot) elastic.Allocation {
	return newDues(s, true).allocate()
}

// dues is one decision about deadlines.
type dues struct {
	snap  elastic.Snapshot
	once  bool
	told  map[elastic.JobID]elastic.Decision // what is said of each deadline
	waits map[elastic.JobID]dateWait         // why jobs that wait do, on account of deadlines
}

// newDues is a decision with nothing said yet.
func newDues(s elastic.Snapshot, once bool) dues {
	return dues{snap: s, once: once, told: map[elastic.JobID]elastic.Decision{}, waits: map[elastic.JobID]dateWait{}}
}

func (d dues) allocate() elastic.Allocation {
	a := division{bind: d.bind, plans: d.plans, stops: true, starts: true, because: d.because, waits: d.waiting}.allocate(d.snap)
	for id, said := range d.told {
		if decision, there := a[id]; there {
			decision.Promised, decision.Ends, decision.Due = said.Promised, said.Ends, said.Due
			a[id] = decision
		}
	}
	return a
}

// every is the time from one decision to the next.
func (d dues) every() time.Duration {
	return max(time.Second, cmp.Or(d.snap.Limits.Every, time.Minute))
}

// bind makes the rule for a group of jobs. Those that were promised their deadline and may
// not be touched now are planned for, too.
func (d dues) bind(settled []part) rule {
	return func(parts []part, gpus int) { d.divide(settled, parts, gpus) }
}

// plans reports whether a job is planned for though it keeps what it has: one that was
// promised its deadline, and one with a deadline that rests.
func (d dues) plans(j *job) bool {
	if j.now == 0 || len(j.sizes) == 0 || j.Spec.Deadline.IsZero() {
		return false
	}
	return j.role == fixed && (j.Promised || j.unshown()) || j.role == movable
}

func (d dues) divide(settled, parts []part, gpus int) {
	var jobs []deadline.Job
	var who []*part
	for i := range parts {
		if j, ok := d.pose(&parts[i]); ok {
			jobs, who = append(jobs, j), append(who, &parts[i])
		} else {
			gpus -= parts[i].size()
		}
	}
	for i := range settled {
		p := &settled[i]
		if posed, ok := d.pose(p); ok && slices.Contains(posed.Sizes, p.now) {
			posed.Settled = true
			jobs, who, gpus = append(jobs, posed), append(who, p), gpus+p.now
		}
	}
	plan := deadline.Decide(jobs, gpus, float64(d.snap.Now.Unix()), d.every().Seconds())
	for i, p := range who {
		if !jobs[i].Settled {
			p.at = p.atMost(plan.GPUs[i])
		}
		if !p.Spec.Deadline.IsZero() {
			d.told[p.ID] = d.tell(p.job, jobs[i], plan, i)
		}
		d.waits[p.ID] = waitOf(p.role == waiting, jobs[i], plan, i)
	}
}

// tell says when a job ends, as far as can be seen.
func (d dues) tell(p *job, j deadline.Job, plan deadline.Plan, i int) elastic.Decision {
	ends := plan.Soonest[i]
	if plan.Promised[i] {
		ends = j.Due
		for k, n := range j.Sizes {
			if n == plan.GPUs[i] {
				ends = min(ends, j.Work/j.Rate[k])
			}
		}
	}
	said := elastic.Decision{Promised: plan.Promised[i], Due: d.due(p, plan.Promised[i])}
	if ends > 0 && !math.IsInf(ends, 0) {
		said.Ends = d.snap.Now.Add(time.Duration(ends * float64(time.Second)))
	}
	return said
}

// pose is the job as the plan sees it; false when its speed is nothing to plan with.
func (d dues) pose(p *part) (deadline.Job, bool) {
	more := p.grown()
	if p.role != waiting || p.pin > 0 || len(more) == 0 {
		return d.duty(p.job, p.sizes, p.unit)
	}
	return d.duty(p.job, append(slices.Clone(p.sizes), more...), func(k int) float64 {
		if k < len(p.sizes) {
			return p.unit(k)
		}
		return p.packed(more[k-len(p.sizes)])
	})
}

// grown lists the sizes above its minimum that a job is expected to accept once it has shown
// a checkpoint.
func (j *job) grown() []int {
	if !j.Unproven || j.Grown.Min == 0 || j.Spec.Deadline.IsZero() {
		return nil
	}
	return slices.DeleteFunc(j.Grown.Options(j.pool.reach), func(n int) bool {
		return n <= j.Spec.Min || !j.pool.splits(n) || j.MaxNodes > 0 && j.pool.spread[n] > j.MaxNodes
	})
}

// unshown reports whether the job runs, has a deadline, and is not moved before its program
// has shown that it saves.
func (j *job) unshown() bool {
	return j.Unproven && !j.Speaks && j.now > 0 && !j.Spec.Deadline.IsZero() && j.Phase == elastic.Running
}

// proves is how many seconds a job is taken to need, from its start, until it has shown a
// checkpoint: to start, and for a unit of work; two decisions at least.
func (d dues) proves(j *job, unit float64) float64 {
	return max((j.Price.Start+j.Price.Load).Seconds()+unit, 2*d.every().Seconds())
}

// duty is a job that may have some sizes, on the k-th of which a unit of its work takes so
// many seconds, as the plan sees it.
func (d dues) duty(p *job, sizes []int, seconds func(k int) float64) (deadline.Job, bool) {
	j := deadline.Job{Work: max(p.work, math.SmallestNonzeroFloat32), Now: p.now, Price: p.price, Promised: p.Promised, Due: math.Inf(1)}
	for k, n := range sizes {
		if n == 0 {
			continue
		}
		unit := seconds(k)
		if !p.Promised && !p.Spec.Deadline.IsZero() { // who was, was it with this to spare
			unit *= 1 + p.Curve.Doubt(speed.Shape{GPUs: n, Nodes: 1})
		}
		if unit > 0 && !math.IsInf(unit, 0) {
			j.Sizes, j.Rate = append(j.Sizes, n), append(j.Rate, 1/unit)
		}
	}
	if until := d.snap.RestsUntil(&p.Job); p.now > 0 && until.After(d.snap.Now) && !d.snap.Limits.AnySplit {
		j.Rests, j.Until = true, until.Sub(d.snap.Now).Seconds()
	}
	switch {
	case len(j.Rate) == 0:
	case p.role == waiting && p.Unproven && p.Grown.Min > 0 && len(j.Sizes) > 1:
		j.Proves = d.proves(p, 1/j.Rate[0])
	case p.unshown():
		j.Until = max(j.Until, d.proves(p, 1/j.Rate[0])-d.snap.Now.Sub(p.Started).Seconds())
	}
	if !d.once && !d.snap.Limits.AnySplit {
		j.Payback = d.snap.Limits.Payback
	}
	j.Keeps, j.Stays = sizes[0] > 0, !d.snap.Limits.Preempt
	j.Queues = p.Spec.Deadline.IsZero() || p.Spec.Soft
	switch due := p.Spec.Deadline; {
	case due.IsZero():
	case d.passed(p): // nothing it waits for could come: it counts as a job without a deadline
		j.Queues, j.Promised = true, false
	default:
		j.Due = due.Sub(d.snap.Now).Seconds()
		j.Waits = !p.Spec.Soft && !p.started()
		j.Turned = d.once && !p.Promised && d.snap.Now.Sub(p.Submitted) > d.every()
		if p.Curve.Samples() == 0 { // it runs as any other until that is known
			j.Due, j.Queues, j.Waits = math.Inf(1), true, false
		}
	}
	return j, len(j.Sizes) > 0 && (!j.Keeps || j.Sizes[0] == sizes[0])
}

// passed reports whether the job's deadline is over. Such a job is best effort, in either
// mode: a hard one would otherwise wait for ever. The published baseline drops it.
func (d dues) passed(j *job) bool {
	return !d.once && !j.Spec.Deadline.IsZero() && !j.Spec.Deadline.After(d.snap.Now)
}

// because is what a job's deadline does to its size.
func (d dues) because(_ *reasons, j *job) reason.Reason {
	if j.Spec.Deadline.IsZero() {
		return reason.DeadlinesFirst
	}
	due, said := j.Spec.Deadline, d.told[j.ID]
	switch said.Due {
	case elastic.DuePromised:
		return reason.EndsBy{Ends: said.Ends, Spare: due.Sub(said.Ends).Seconds()}
	case elastic.DuePassed:
		return reason.DeadlinePassed{Deadline: due}
	case elastic.DueUnknown:
		return reason.DeadlineUnknown{Deadline: due}
	case elastic.DueUnjudged:
		return reason.DeadlineUnjudged{Deadline: due}
	}
	return reason.DeadlineUnmet{Deadline: due, Ends: said.Ends}
}

// due is what a plan makes of a job's deadline.
func (d dues) due(j *job, promised bool) elastic.Due {
	switch {
	case j.Spec.Deadline.IsZero():
		return elastic.DueUnjudged
	case promised:
		return elastic.DuePromised
	case d.passed(j):
		return elastic.DuePassed
	case j.Curve.Samples() == 0:
		return elastic.DueUnknown
	}
	return elastic.DueUnmet
}

// waiting says why a job waits that could be placed, as far as deadlines are the reason.
func (d dues) waiting(w *reasons, j *job) reason.Reason {
	why := d.waits[j.ID].why(j.least())
	if why != nil && !j.Spec.Deadline.IsZero() {
		why = reason.Join(why, d.because(w, j))
	}
	return why
}
