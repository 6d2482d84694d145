package lookahead

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/admission"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// How look-ahead policies handle deadlines. Jobs with a deadline are planned for first (package
// deadline): an admitted job gets at least the share that meets its deadline, and no job is
// started that would break an admission. Within these constraints the policy decides as usual,
// so a job with a deadline may get more than it needs.

// deadlinePlan is what its deadline requires of a job now. The zero value is that of a job that is
// not planned for, see duty.
type deadlinePlan struct {
	planned  bool
	least    int  // GPUs that it needs now to keep its admission; 0 = it is not admitted, or needs none yet
	later    bool // it waits for its start, or for ever: not admitted, it gets nothing
	held     bool // it waits, because it would break another job's admission
	decision elastic.Decision
}

// planDeadlines plans for the deadlines, separately for jobs that share no nodes. Without a
// deadline in the snapshot nothing is planned.
func (o *round) planDeadlines() {
	for _, classes := range o.deadlineNodes() {
		o.planDeadlinesOn(classes)
	}
}

// deadlineNodes lists the node classes of the jobs with deadlines; classes that some of them
// could share are in one group. The lists that it returns have no class in common, so that no GPU
// is planned for twice.
func (o *round) deadlineNodes() [][]int {
	var out [][]int
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Spec.Deadline.IsZero() || len(p.group.classes) == 0 {
			continue
		}
		joined := slices.Clone(p.group.classes)
		out = slices.DeleteFunc(out, func(classes []int) bool {
			if !haveCommon(classes, joined) {
				return false
			}
			joined = append(joined, classes...)
			return true
		})
		slices.Sort(joined)
		out = append(out, slices.Compact(joined))
	}
	return out
}

// haveCommon reports whether two lists of classes have one in common.
func haveCommon(a, b []int) bool {
	return slices.ContainsFunc(a, func(c int) bool { return slices.Contains(b, c) })
}

// planDeadlinesOn plans for the jobs with deadlines on some classes of nodes, and for those
// that have GPUs there, or could get some.
//
// The GPUs to divide are those that are free on the floor: those of movable jobs count as free
// there. Those of Settled jobs, booked as Fixed, are added, and those of movable jobs that cannot
// be planned for are taken off. Time is in seconds since 1970, as deadline.Decide needs a fixed
// start. A job that could also run on other classes is not held back here.
func (o *round) planDeadlinesOn(classes []int) {
	d := admission.Rules{Snap: o.snap}
	gpus := o.free(classes)
	var jobs []deadline.Job
	var who []*job
	for i := range o.jobs {
		p := &o.jobs[i]
		if !haveCommon(classes, p.group.classes) || p.Now > 0 && !haveCommon(classes, o.classesOf(p)) {
			continue
		}
		j, ok := o.duty(d, p)
		switch {
		case ok:
			jobs, who = append(jobs, j), append(who, p)
			if j.Settled {
				gpus += p.Now
			}
		case p.Role == roles.Movable:
			gpus -= p.Now
		}
	}
	plan := deadline.Decide(jobs, o.beside(classes, gpus, jobs), float64(o.snap.Now.Unix()), d.Every().Seconds())
	for i, p := range who {
		p.plan = o.planOf(d, p, jobs[i], plan, i)
		p.plan.held = p.plan.held && !slices.ContainsFunc(p.group.classes, func(c int) bool { return !slices.Contains(classes, c) })
	}
}

// free returns how many GPUs on nodes of the classes can be decided about.
func (o *round) free(classes []int) (gpus int) {
	for i, n := range o.floor {
		if slices.Contains(classes, o.class[i]) {
			gpus += n.Free()
		}
	}
	return gpus
}

// beside returns what is left of the GPUs after the ordinary jobs that wait have got theirs, as
// far as possible without stopping a job. least is what running jobs keep in any plan; a demand
// that does not fit beside that is ignored. It may return fewer GPUs than an admission needs: then
// the plan says which ones cannot be kept.
func (o *round) beside(classes []int, gpus int, jobs []deadline.Job) int {
	least := 0
	for _, j := range jobs {
		switch {
		case j.Settled:
			least += j.Now
		case j.Keeps:
			least += j.Sizes[0]
		}
	}
	for _, d := range o.snap.Demands[:min(len(o.snap.Demands), roles.MostDemands)] {
		if haveCommon(classes, o.group(d.Partition, d.Type).classes) && d.GPUs <= gpus-least {
			gpus -= d.GPUs
		}
	}
	return gpus
}

// duty returns the job as a plan for deadlines sees it; false if there is nothing to plan. A Fixed
// job is planned for only if it is admitted or awaits its first checkpoint, and then as Settled:
// it keeps its size now.
//
// A waiting job without a checkpoint so far is planned with the sizes that it accepts later. A
// running job may get 0 only where jobs may be stopped; one that has less than its smallest size
// is not planned for.
func (o *round) duty(d admission.Rules, p *job) (deadline.Job, bool) {
	choices := p.choices
	if p.Role == roles.Fixed {
		if !p.Promised && !p.AwaitsCheckpoint() || p.Now == 0 {
			return deadline.Job{}, false
		}
		choices = o.choices(p)
	}
	if p.Role == roles.Waiting && p.Unproven && p.Pin == 0 && p.Grown.Min > 0 && !p.Spec.Deadline.IsZero() {
		grown := *p
		grown.Spec = p.Grown
		choices = slices.DeleteFunc(o.choices(&grown), func(c choice) bool { return c.gpus < p.Spec.Min })
	}
	var sizes []int
	if p.Role == roles.Waiting || o.snap.Limits.Preempt && p.Role == roles.Movable {
		sizes = append(sizes, 0)
	}
	first := len(sizes)
	for _, c := range choices {
		sizes = append(sizes, c.gpus)
	}
	if len(choices) == 0 || p.Role == roles.Movable && choices[0].gpus > p.Now {
		return deadline.Job{}, false
	}
	j, ok := d.Pose(&p.Subject, sizes, func(k int) float64 { return o.unit(p, choices[k-first]) })
	if ok && p.Role == roles.Fixed {
		j.Settled = true
		ok = slices.Contains(j.Sizes, p.Now)
	}
	return j, ok
}

// unit returns the expected seconds per unit of work at a choice, without the bonus for untried
// sizes: for the job's present allocation as measured, else on as few nodes as possible.
func (o *round) unit(p *job, c choice) float64 {
	if c.gpus == p.Now && p.stay > 0 {
		return p.stay / p.Work
	}
	return expected(p.Curve, c.fewest().Split)
}

// planOf reads the plan.
//
//	admitted                       least is what it needs now; later if it does not start now
//	hard deadline that is not met  later: it gets nothing
//	any other                      held if it does not start now
//
// Not to start now binds only jobs that could not be stopped again (Stays): others may start on
// GPUs that are idle meanwhile.
func (o *round) planOf(d admission.Rules, p *job, j deadline.Job, plan deadline.Plan, i int) deadlinePlan {
	t := deadlinePlan{planned: true}
	notNow := p.Role == roles.Waiting && j.Stays && plan.GPUs[i] == 0
	if !p.Spec.Deadline.IsZero() {
		t.decision = d.Judge(&p.Subject, j, plan, i)
	}
	switch {
	case plan.Promised[i]:
		t.least, t.later = plan.Least[i], notNow
	case j.Waits:
		t.later = true
	default:
		t.held = notNow
	}
	return t
}

// admitPromised starts the jobs whose admission would break if they waited longer, before
// earlier ones. It MUST run BEFORE the other waiting jobs are admitted, and returns how many jobs
// it started.
func (o *round) admitPromised(room room) (starts int) {
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Role != roles.Waiting || len(p.choices) == 0 {
			continue
		}
		if p.admit = p.plan.least > 0 && starts < o.starts && room.charge(p.group.classes, p.plan.least); p.admit {
			starts++
		}
		p.must = p.admit
	}
	return starts
}

// brokenPromise is the penalty of a plan in which a job has less than its admission needs.
func (p *job) brokenPromise(size int) float64 {
	if size < p.plan.least {
		return wantDue
	}
	return 0
}

// dated adds the decision on its deadline to a job's decision. A decision about a job without a
// deadline is returned as it is.
func (w explainer) dated(p *job, d elastic.Decision) elastic.Decision {
	if !p.plan.planned || p.Spec.Deadline.IsZero() {
		return d
	}
	d.Promised, d.Ends, d.Due = p.plan.decision.Promised, w.ends(p, d), p.plan.decision.Due
	d.Why = reason.Join(d.Why, admission.Explain(&p.Job, d))
	return d
}

// waitsForDate returns why a job waits because of deadlines; nil if it does not.
func (w explainer) waitsForDate(p *job) reason.Reason {
	switch t := p.plan; {
	case t.held:
		return admission.HeldBack.Why(p.Least())
	case t.later && t.decision.Promised:
		return admission.TooEarly.Why(p.Least())
	case t.later:
		return admission.NotPromised.Why(p.Least())
	}
	return nil
}

// ends returns the expected end of the job with a deadline; zero if it is not known. It is not
// after the deadline of an admitted job: if that is too late at the place found, the end is that
// of the plan, in which the job may get more GPUs later.
func (w explainer) ends(p *job, d elastic.Decision) time.Time {
	said := p.plan.decision
	if !said.Promised || d.GPUs == 0 || p.Role == roles.Fixed {
		return said.Ends
	}
	rest := p.stay
	if !d.Place.Equal(p.At) {
		rest = w.restAt(p, d) + p.ResizeCost
	}
	if ends := elastic.Ahead(w.snap.Now, rest); ends.Before(p.Spec.Deadline) {
		return ends // else by what is planned for it
	}
	return said.Ends
}
