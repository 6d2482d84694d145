package greedy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/admission"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
)

// Deadline admits jobs with deadlines and keeps the admissions with the smallest share that
// meets them (package deadline). Jobs without a deadline share the rest. It sets Promised, Ends
// and Due of the decision about each job whose deadline it judged.
func Deadline(s elastic.Snapshot) elastic.Allocation {
	return newDeadlines(s, false).allocate()
}

// ElasticFlow is the baseline after Gu et al., ElasticFlow, ASPLOS 2023: a job that is not
// admitted in the first decision after its arrival is dropped.
func ElasticFlow(s elastic.Snapshot) elastic.Allocation {
	return newDeadlines(s, true).allocate()
}

// deadlines is one decision about deadlines. It is passed by value. All copies share its two maps,
// which divide fills and allocate, because and waiting read: they MUST be read AFTER the division.
type deadlines struct {
	admission.Rules
	judged map[elastic.JobID]elastic.Decision // the decision on each deadline
	waits  map[elastic.JobID]admission.Wait   // why jobs wait because of deadlines
}

// newDeadlines returns a decision before any job is judged. With once, a job that is not admitted
// when it arrives is not admitted later (elasticflow).
func newDeadlines(s elastic.Snapshot, once bool) deadlines {
	return deadlines{Rules: admission.Rules{Snap: s, Once: once}, judged: map[elastic.JobID]elastic.Decision{}, waits: map[elastic.JobID]admission.Wait{}}
}

// allocate divides the GPUs by the plan for deadlines, and adds what the plan says of each
// deadline to the decisions. Decision.GPUs is what the nodes allow. It may be less than the plan
// gives a job, and the job is admitted nevertheless: the next plan starts from what it has.
func (d deadlines) allocate() elastic.Allocation {
	a := division{bind: d.bind, plans: d.plans, stops: true, starts: true, because: d.because, waits: d.waiting}.allocate(d.Snap)
	for id, said := range d.judged {
		if decision, there := a[id]; there {
			decision.Promised, decision.Ends, decision.Due = said.Promised, said.Ends, said.Due
			a[id] = decision
		}
	}
	return a
}

// bind returns the rule for a group of jobs. Admitted jobs that may not be changed now are
// planned for too.
func (d deadlines) bind(settled []part) rule {
	return func(parts []part, gpus int) { d.divide(settled, parts, gpus) }
}

// plans reports whether a job is planned for although it keeps what it has: an admitted one,
// and one with a deadline that rests after a resize. A fixed job counts if it was admitted, or
// awaits its first checkpoint; a movable one in any case.
func (d deadlines) plans(j *job) bool {
	if j.Now == 0 || len(j.sizes) == 0 || j.Spec.Deadline.IsZero() {
		return false
	}
	return j.Role == roles.Fixed && (j.Promised || j.AwaitsCheckpoint()) || j.Role == roles.Movable
}

// divide is the rule of deadline. GPUs of parts that cannot be planned for are not available;
// those of settled jobs are, and are planned to stay with them.
//
// A settled job that is not at a size with a known speed is left out, and its GPUs stay with it.
// The plan is in seconds from Snap.Now, in rounds of Rules.Every.
func (d deadlines) divide(settled, parts []part, gpus int) {
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
		if posed, ok := d.pose(p); ok && slices.Contains(posed.Sizes, p.Now) {
			posed.Settled = true
			jobs, who, gpus = append(jobs, posed), append(who, p), gpus+p.Now
		}
	}
	plan := deadline.Decide(jobs, gpus, float64(d.Snap.Now.Unix()), d.Every().Seconds())
	for i, p := range who {
		if !jobs[i].Settled {
			p.at = p.atMost(plan.GPUs[i])
		}
		if !p.Spec.Deadline.IsZero() {
			d.judged[p.ID] = d.Judge(&p.Subject, jobs[i], plan, i)
		}
		d.waits[p.ID] = admission.WaitOf(p.Role == roles.Waiting, jobs[i], plan, i)
	}
}

// pose returns the job as the plan sees it; false if its throughput is not known well enough to
// plan. A waiting job without a checkpoint is planned with the sizes that it will accept later
// (grown), but starts at one of p.sizes: divide takes the largest of these up to what the plan
// gives.
func (d deadlines) pose(p *part) (deadline.Job, bool) {
	more := p.grown()
	if p.Role != roles.Waiting || p.Pin > 0 || len(more) == 0 {
		return d.Pose(&p.Subject, p.sizes, p.unit)
	}
	return d.Pose(&p.Subject, append(slices.Clone(p.sizes), more...), func(k int) float64 {
		if k < len(p.sizes) {
			return p.unit(k)
		}
		return p.packed(more[k-len(p.sizes)])
	})
}

// grown lists the sizes above its minimum that a job is expected to accept once it has
// completed a checkpoint. nil if it accepts all its sizes already, or has no deadline to plan for.
func (j *job) grown() []int {
	if !j.Unproven || j.Grown.Min == 0 || j.Spec.Deadline.IsZero() {
		return nil
	}
	return slices.DeleteFunc(j.Grown.Options(j.pool.reach), func(n int) bool {
		return n <= j.Spec.Min || !j.pool.splits(n) || j.MaxNodes > 0 && j.pool.spread[n] > j.MaxNodes
	})
}

// because returns how a job's deadline affects its size.
func (d deadlines) because(_ *reasons, j *job) reason.Reason {
	return admission.Explain(&j.Job, d.judged[j.ID])
}

// waiting returns why a job that could be placed waits, as far as deadlines are the reason.
func (d deadlines) waiting(w *reasons, j *job) reason.Reason {
	why := d.waits[j.ID].Why(j.Least())
	if why != nil && !j.Spec.Deadline.IsZero() {
		why = reason.Join(why, d.because(w, j))
	}
	return why
}
