package greedy

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// divisionReason returns why a division gave the job its size. The policy's rule (because) is the
// reason only where the rule decided; where the round's own steps did, their reasons are given, as
// for knapsack.
func (r *round) divisionReason(d division, i int) reason.Reason {
	w, j, n := r.because(), &r.jobs[i], r.size[i]
	switch {
	case j.Role == roles.Fixed:
		return j.FixedBecause
	case j.Role == roles.Waiting && n == 0 && j.pool.splits(j.Least()) && w.unplaced(d, j) != nil:
		return w.unplaced(d, j)
	case j.Role == roles.Waiting && n == 0 && (!d.stops || !j.pool.splits(j.Least())):
		return w.waits(i)
	case j.Role == roles.Waiting && n == 0:
		return reason.WaitsOn{Because: d.because(w, j)}
	case j.Pin > 0 && j.Role == roles.Waiting:
		return w.starts(i)
	case j.Pin > 0:
		return w.pinned(i)
	case j.Role == roles.Waiting:
		return reason.Starts{GPUs: n, Because: d.because(w, j)}
	case n == 0:
		return reason.Stops{Because: d.because(w, j)}
	case n != j.Now:
		return reason.Resizes{From: j.Now, To: n, Because: reason.Join(j.takes(j.seconds(n)), d.because(w, j))}
	case r.snap.Resting(&j.Job):
		return w.keeps(i)
	}
	return reason.Keeps{GPUs: n, Because: d.because(w, j)}
}

// unplaced returns the policy's own reason for a job that waits; nil if it has none.
func (w *reasons) unplaced(d division, j *job) reason.Reason {
	if d.waits == nil || j.blocked != nil && j.blocked != j {
		return nil
	}
	return d.waits(w, j)
}

// always returns the same reason for every job.
func always(why reason.Reason) func(*reasons, *job) reason.Reason {
	return func(*reasons, *job) reason.Reason { return why }
}
