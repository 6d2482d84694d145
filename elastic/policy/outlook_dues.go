package policy

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// What a look ahead knows of deadlines. Jobs with one are planned for first (package
// deadline): a job that is promised its end in time gets at least the share that keeps the
// promise, and nobody is started who would be in a promise's way. Within that the look
// ahead decides as ever, so that a job with a deadline may well get more than it needs.

// dateWait is why a job waits, on account of deadlines.
type dateWait int

const (
	noDateWait  dateWait = iota
	heldBack             // started now, it would be in the way of a promise to another
	tooEarly             // it is promised its deadline, and starts later
	notPromised          // its hard deadline cannot be promised
)

// waitOf reads it from a plan.
func waitOf(waits bool, j deadline.Job, plan deadline.Plan, i int) dateWait {
	notNow := waits && plan.GPUs[i] == 0
	switch {
	case !notNow:
		return noDateWait
	case plan.Promised[i]:
		return tooEarly
	case j.Waits:
		return notPromised
	case slices.Contains(plan.Promised, true):
		return heldBack
	}
	return noDateWait
}

// why is it as a reason; nil for none.
func (w dateWait) why(least int) reason.Reason {
	switch w {
	case heldBack:
		return reason.Waits{GPUs: least, Because: reason.PromisedToThem}
	case tooEarly:
		return reason.WaitsOn{Because: reason.NotYet}
	case notPromised:
		return reason.WaitsOn{Because: reason.HardDeadline}
	}
	return nil
}

// terms are what deadlines mean for a job now.
type terms struct {
	planned bool
	least   int  // GPUs it is to have now, or its promise breaks; 0 = it has no promise, or needs none yet
	later   bool // waits for its time, or for ever: without a promise nothing is done for it
	held    bool // waits, for it would be in the way of a promise to another
	said    elastic.Decision
}

// keepDates plans for the deadlines, apart for jobs that share no nodes.
func (o *outlook) keepDates() {
	for _, classes := range o.dated() {
		o.keepDatesOn(classes)
	}
}

// dated lists the nodes, by class, of the jobs with deadlines, those together that some of
// them could share.
func (o *outlook) dated() [][]int {
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

// keepDatesOn plans for the jobs with deadlines on some classes of nodes, and for those
// that have GPUs there, or could get some.
func (o *outlook) keepDatesOn(classes []int) {
	d := dues{snap: o.snap}
	gpus := o.free(classes)
	var jobs []deadline.Job
	var who []*prospect
	for i := range o.jobs {
		p := &o.jobs[i]
		if !haveCommon(classes, p.group.classes) || p.now > 0 && !haveCommon(classes, o.classesOf(p)) {
			continue
		}
		j, ok := o.duty(d, p)
		switch {
		case ok:
			jobs, who = append(jobs, j), append(who, p)
			if j.Settled {
				gpus += p.now
			}
		case p.role == movable:
			gpus -= p.now
		}
	}
	plan := deadline.Decide(jobs, o.beside(classes, gpus, jobs), float64(o.snap.Now.Unix()), d.every().Seconds())
	for i, p := range who {
		p.terms = o.termsOf(d, p, jobs[i], plan, i)
		p.terms.held = p.terms.held && !slices.ContainsFunc(p.group.classes, func(c int) bool { return !slices.Contains(classes, c) })
	}
}

// free is how many GPUs there are on nodes of the classes that can be decided about.
func (o *outlook) free(classes []int) (gpus int) {
	for i, n := range o.floor {
		if slices.Contains(classes, o.class[i]) {
			gpus += n.Free()
		}
	}
	return gpus
}

// beside is what is left of the GPUs when ordinary jobs that wait have found theirs, as
// far as they could without any job being stopped.
func (o *outlook) beside(classes []int, gpus int, jobs []deadline.Job) int {
	least := 0
	for _, j := range jobs {
		switch {
		case j.Settled:
			least += j.Now
		case j.Keeps:
			least += j.Sizes[0]
		}
	}
	for _, d := range o.snap.Demands[:min(len(o.snap.Demands), mostDemands)] {
		if haveCommon(classes, o.group(d.Partition, d.Type).classes) && d.GPUs <= gpus-least {
			gpus -= d.GPUs
		}
	}
	return gpus
}

// duty is the job as a plan for deadlines sees it; false when there is nothing to plan.
func (o *outlook) duty(d dues, p *prospect) (deadline.Job, bool) {
	choices := p.choices
	if p.role == fixed {
		if !p.Promised && !p.unshown() || p.now == 0 {
			return deadline.Job{}, false
		}
		choices = o.choices(p)
	}
	if p.role == waiting && p.Unproven && p.pin == 0 && p.Grown.Min > 0 && !p.Spec.Deadline.IsZero() {
		grown := *p
		grown.Spec = p.Grown
		choices = slices.DeleteFunc(o.choices(&grown), func(c choice) bool { return c.gpus < p.Spec.Min })
	}
	var sizes []int
	if p.role == waiting || o.snap.Limits.Preempt && p.role == movable {
		sizes = append(sizes, 0)
	}
	first := len(sizes)
	for _, c := range choices {
		sizes = append(sizes, c.gpus)
	}
	if len(choices) == 0 || p.role == movable && choices[0].gpus > p.now {
		return deadline.Job{}, false
	}
	j, ok := d.duty(&p.job, sizes, func(k int) float64 { return o.unit(p, choices[k-first]) })
	if ok && p.role == fixed {
		j.Settled = true
		ok = slices.Contains(j.Sizes, p.now)
	}
	return j, ok
}

// unit is how many seconds a unit of work is expected to take at a choice, without hope:
// where the job is as measured, elsewhere on as few nodes as can be.
func (o *outlook) unit(p *prospect, c choice) float64 {
	if c.gpus == p.now && p.stay > 0 {
		return p.stay / p.work
	}
	return expected(p.Curve, c.fewest().Split)
}

// termsOf reads the plan.
func (o *outlook) termsOf(d dues, p *prospect, j deadline.Job, plan deadline.Plan, i int) terms {
	t := terms{planned: true}
	notNow := p.role == waiting && j.Stays && plan.GPUs[i] == 0
	if !p.Spec.Deadline.IsZero() {
		t.said = d.tell(&p.job, j, plan, i)
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

// admitPromised starts those who must not wait any longer, or a promise breaks, whoever
// came before them.
func (o *outlook) admitPromised(room room) (starts int) {
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.role != waiting || len(p.choices) == 0 {
			continue
		}
		if p.admit = p.terms.least > 0 && starts < o.starts && room.charge(p.group.classes, p.terms.least); p.admit {
			starts++
		}
		p.must = p.admit
	}
	return starts
}

// broken is what it costs a plan when a job has less than its promise needs.
func (p *prospect) broken(size int) float64 {
	if size < p.terms.least {
		return wantDue
	}
	return 0
}

// dated completes the decision on a job with what is to be said of its deadline.
func (w foresight) dated(p *prospect, d elastic.Decision) elastic.Decision {
	if !p.terms.planned || p.Spec.Deadline.IsZero() {
		return d
	}
	d.Promised, d.Ends, d.Due = p.terms.said.Promised, w.ends(p, d), p.terms.said.Due
	d.Why = reason.Join(d.Why, dues{snap: w.snap, told: map[elastic.JobID]elastic.Decision{p.ID: d}}.because(nil, &p.job))
	return d
}

// waitsForDate is why a job waits on account of deadlines; nil when it does not.
func (w foresight) waitsForDate(p *prospect) reason.Reason {
	switch t := p.terms; {
	case t.held:
		return heldBack.why(p.least())
	case t.later && t.said.Promised:
		return tooEarly.why(p.least())
	case t.later:
		return notPromised.why(p.least())
	}
	return nil
}

// ends is when the job with a deadline ends, as far as can be seen; zero when that is not
// in sight.
func (w foresight) ends(p *prospect, d elastic.Decision) time.Time {
	said := p.terms.said
	if !said.Promised || d.GPUs == 0 || p.role == fixed {
		return said.Ends
	}
	rest := p.stay
	if !d.Place.Equal(p.at) {
		rest = w.restAt(p, d) + p.price
	}
	if ends := w.snap.Now.Add(time.Duration(rest * float64(time.Second))); ends.Before(p.Spec.Deadline) {
		return ends // else on what is planned for it
	}
	return said.Ends
}
