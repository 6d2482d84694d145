package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/deadline"
	"github.com/sluice-hpc/sluice/elastic/speed"
)

// byDeadline promises jobs their deadlines and keeps that by the smallest share that
// does (package deadline). Jobs without one share what is left.
func byDeadline(s elastic.Snapshot) elastic.Allocation {
	return byPools(s, func(s elastic.Snapshot) elastic.Allocation {
		return dues{snap: s, told: map[elastic.JobID]elastic.Decision{}}.allocate()
	})
}

// elasticflow is the baseline after Gu et al., ElasticFlow, ASPLOS 2023: a job that is
// not promised its deadline in the first decision after it came is not looked at again.
func elasticflow(s elastic.Snapshot) elastic.Allocation {
	return dues{snap: s, once: true, told: map[elastic.JobID]elastic.Decision{}}.allocate()
}

// dues is one decision about deadlines.
type dues struct {
	snap elastic.Snapshot
	once bool
	told map[elastic.JobID]elastic.Decision // what is said of each deadline
}

func (d dues) allocate() elastic.Allocation {
	a := division{bind: d.bind, stops: true, starts: true, because: d.because}.allocate(d.snap)
	for id, said := range d.told {
		if decision, there := a[id]; there {
			decision.Promised, decision.Ends = said.Promised, said.Ends
			a[id] = decision
		}
	}
	return a
}

// every is the time from one decision to the next.
func (d dues) every() time.Duration {
	return max(time.Second, cmp.Or(d.snap.Limits.Every, time.Minute))
}

// bind makes the rule of a round: who was promised his deadline and may not be touched now
// is planned for, too.
func (d dues) bind(r *round) rule {
	return func(parts []part, gpus int) { d.divide(r, parts, gpus) }
}

func (d dues) divide(r *round, parts []part, gpus int) {
	var jobs []deadline.Job
	var who []*part
	for i := range parts {
		if j, ok := d.pose(&parts[i]); ok {
			jobs, who = append(jobs, j), append(who, &parts[i])
		} else {
			gpus -= parts[i].size()
		}
	}
	for i := range r.jobs {
		j := &r.jobs[i]
		if j.role != fixed || !j.Promised || j.now == 0 || len(j.sizes) == 0 || !j.pool.meets(parts[0].pool) {
			continue
		}
		settled := part{job: j, index: i, sizes: j.sizes}
		if posed, ok := d.pose(&settled); ok && slices.Contains(posed.Sizes, j.now) {
			posed.Settled = true
			jobs, who, gpus = append(jobs, posed), append(who, &settled), gpus+j.now
		}
	}
	plan := deadline.Decide(jobs, gpus, float64(d.snap.Now.Unix()), d.every().Seconds())
	for i, p := range who {
		if !jobs[i].Settled {
			p.at = p.atMost(plan.GPUs[i])
		}
		if !p.Spec.Deadline.IsZero() {
			d.told[p.ID] = d.tell(jobs[i], plan, i)
		}
	}
}

// tell says when a job ends, as far as can be seen.
func (d dues) tell(j deadline.Job, plan deadline.Plan, i int) elastic.Decision {
	ends := plan.Soonest[i]
	if plan.Promised[i] {
		ends = j.Due
		for k, n := range j.Sizes {
			if n == plan.GPUs[i] {
				ends = min(ends, j.Work/j.Rate[k])
			}
		}
	}
	said := elastic.Decision{Promised: plan.Promised[i]}
	if ends > 0 && !math.IsInf(ends, 0) {
		said.Ends = d.snap.Now.Add(time.Duration(ends * float64(time.Second)))
	}
	return said
}

// pose is the job as the plan sees it; false when its speed is nothing to plan with.
func (d dues) pose(p *part) (deadline.Job, bool) { return d.duty(p.job, p.sizes, p.unit) }

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

// because says in a few words what a job's deadline does to its size.
func (d dues) because(_ *words, j *job) string {
	due, said := j.Spec.Deadline.In(d.snap.Now.Location()), d.told[j.ID]
	switch {
	case j.Spec.Deadline.IsZero():
		return "jobs with deadlines come first; what they leave goes where it saves most"
	case said.Promised:
		return fmt.Sprintf("it ends by %s, %s before its deadline, on what is planned for it", clock(said.Ends), span(due.Sub(said.Ends).Seconds()))
	case d.passed(j):
		return fmt.Sprintf("its deadline of %s has passed: it counts as a job without one", clock(due))
	case j.Curve.Samples() == 0:
		return fmt.Sprintf("its deadline of %s cannot be promised: its speed is not known yet", clock(due))
	case said.Ends.IsZero():
		return fmt.Sprintf("its deadline of %s cannot be met, and no end is in sight", clock(due))
	}
	return fmt.Sprintf("its deadline of %s cannot be met; it could end at %s", clock(due), clock(said.Ends))
}

// clock is a time as Slurm writes it.
func clock(t time.Time) string { return t.Format("2006-01-02T15:04:05") }
