package policy

import (
	"maps"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// limit returns the limit as a reason, with the jobs that use it.
// It is made once for each limit, since it looks at all jobs that use the limit.
func (b *bounds) limit(c *elastic.Cap) reason.Reason {
	if b.said[c] == nil {
		b.said[c] = b.snap.Limit(*c)
	}
	return b.said[c]
}

// explain names the limit where it is the reason for a job's size, and adds decisions for jobs
// that the policy was not asked about.
//
// The first case that applies counts, so their ORDER matters: what no change of the cluster can
// resolve (a time limit that the partition refuses) is said before what ends with other jobs. A job
// that the policy decided about keeps the policy's reason unless the limit is what binds it: the job has
// the largest size that the limit leaves it, or gives GPUs back because of it. The allocation of the
// caller is not changed.
func (b *bounds) explain(a elastic.Allocation) elastic.Allocation {
	a = maps.Clone(a)
	for i := range b.jobs {
		j := &b.jobs[i]
		d := a[j.ID]
		switch {
		case j.out && j.now == 0 && j.never.MaxTime > 0:
			d = elastic.Decision{Why: j.never}
		case j.out && j.now == 0 && j.array != nil:
			d = elastic.Decision{Why: reason.Throttled{Most: j.array.Most}}
		case j.out && j.now == 0 && j.pin > 0:
			d = elastic.Decision{Why: reason.WaitsPinned{GPUs: j.pin, Because: reason.Within{Limit: j.why}}}
		case j.out && j.now == 0:
			d = elastic.Decision{Why: reason.Waits{GPUs: j.Spec.Min, Because: reason.Within{Limit: j.why}}}
		case j.out:
			d = elastic.Decision{GPUs: j.now, Why: reason.Keeps{GPUs: j.now, Because: reason.RestartBeyond{Limit: j.why}}}
		case j.gives && d.GPUs == 0: // it is stopped, for a reason of its own
			continue
		case j.beyond && d.GPUs < j.now:
			d.Why = reason.Resizes{From: j.now, To: d.GPUs, Because: reason.Reclaimed{Limit: j.why}}
		case j.gives && d.GPUs < j.now:
			d.Why = reason.Resizes{From: j.now, To: d.GPUs, Because: reason.AnotherWaitsWithin{Limit: j.why}}
		case j.why != nil && len(j.sizes) > 0 && d.GPUs >= j.sizes[len(j.sizes)-1]:
			if no := (reason.NoMoreWithin{Limit: j.why}); reason.Cause(d.Why) == reason.AtMaximum {
				d.Why = reason.Recause(d.Why, no)
			} else {
				d.Why = reason.Join(d.Why, no)
			}
		default:
			continue
		}
		a[j.ID] = d
	}
	return a
}
