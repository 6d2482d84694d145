package greedy

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// reasons is what the reasons of a round are made from. It is made once a round, and what it
// computes on demand is kept: one reason may need a trial.
type reasons struct {
	*round
	idle  []nodes.Node  // the inventory after the decision
	cause reason.Reason // for which jobs running ones gave GPUs back; nil until needed
	gives map[*pool]int // GPUs that running jobs can give back, where that was needed
}

// because returns the reasons' data of the round. It MUST be called AFTER the sizes are final.
func (r *round) because() *reasons {
	if r.said == nil {
		r.said = &reasons{round: r, idle: r.try(r.size, r.wants).after, gives: map[*pool]int{}}
	}
	return r.said
}

// explain returns why the job gets its size. The cases are in the order of what decides: what may
// not be changed, then the queue, then the user's pin, then the policy's own choice.
func (r *round) explain(i int) reason.Reason {
	w, j := r.because(), &r.jobs[i]
	switch {
	case j.Role == roles.Fixed:
		return j.FixedBecause
	case j.Role == roles.Waiting && r.size[i] == 0:
		return w.waits(i)
	case j.Role == roles.Waiting:
		return w.starts(i)
	case j.Pin > 0:
		return w.pinned(i)
	case r.size[i] < j.Now:
		return w.shrinks(i)
	case r.size[i] > j.Now:
		return w.grows(i)
	}
	return w.keeps(i)
}

// served names the jobs for which others shrink: those that would not fit otherwise.
func (w *reasons) served() reason.Reason {
	if w.cause != nil {
		return w.cause
	}
	t := w.try(w.base, w.wants)
	var who []reason.Reason
	for _, i := range t.short {
		who = append(who, reason.JobWaits{Job: int64(w.jobs[i].ID), GPUs: w.base[i] - w.jobs[i].Now})
	}
	for _, k := range t.unmet {
		who = append(who, reason.JobWaits{Job: int64(w.wants[k].id), GPUs: w.wants[k].GPUs, Ordinary: true})
	}
	switch len(who) {
	case 0:
		w.cause = reason.OthersWait
	case 1:
		w.cause = who[0]
	case 2:
		w.cause = reason.Both{First: who[0], Second: who[1]}
	default:
		w.cause = reason.AndMoreWait{First: who[0], More: len(who) - 1}
	}
	return w.cause
}

// waits returns why the job waits, the reason that decides: it could never start, an earlier
// job waits for the same nodes, or there are not enough GPUs.
func (w *reasons) waits(i int) reason.Reason {
	j := &w.jobs[i]
	want := j.Least()
	head := j.blocked
	switch {
	case !j.pool.splits(want):
		return roles.CannotStart(&w.snap, &j.Job, want)
	case head == nil || head == j:
	default:
		return reason.WaitsBehind{Job: int64(head.ID), GPUs: head.Least()}
	}
	idle := j.pool.free(w.idle)
	back := w.back(j.pool)
	why := reason.Waits{GPUs: want}
	switch {
	case idle+back == 0:
		why.Because = reason.NoneIdleOrBack
	case idle+back < want:
		why.Because = reason.IdleAndBack{Idle: idle, Back: back}
	default:
		why.Because = reason.IdleElsewhere{Idle: idle, Back: back}
	}
	return why
}

// back returns how many GPUs running jobs can give back in a pool. It counts from base: what was
// given back already in this round counts again. That is for a sentence only; no size depends on
// it.
func (w *reasons) back(on *pool) int {
	back, known := w.gives[on]
	if !known {
		_, _, back = w.reductions(w.base, on)
		w.gives[on] = back
	}
	return back
}

// starts returns why a waiting job gets its size now: the pin, the spare GPUs above its minimum,
// or that it gets the minimum alone.
func (w *reasons) starts(i int) reason.Reason {
	j, n := &w.jobs[i], w.size[i]
	switch {
	case j.Pin > 0:
		return reason.Starts{GPUs: n, Because: reason.Pinned}
	case n > j.Least():
		saved := j.cost(j.Least()) - j.cost(n)
		return reason.StartsAbove{GPUs: n, Above: n - j.Least(),
			Because: reason.SpareSaves{Saves: saved, Of: j.seconds(j.Least()), Assumed: j.Assumed()}}
	case w.reducedFor(j):
		return reason.StartsOnReturned{GPUs: n}
	}
	return reason.StartsAtMinimum{GPUs: n, Because: w.noGrowth(i)}
}

// reducedFor reports whether some running job gives GPUs back where j may run.
func (w *reasons) reducedFor(j *job) bool {
	for k := range w.jobs {
		if o := &w.jobs[k]; o.Role == roles.Movable && o.Pin == 0 && w.size[k] < o.Now && o.pool.meets(j.pool) {
			return true
		}
	}
	return false
}

// pinned returns the reason of a running job with a pin; if it is not at the pin, the obstacle.
func (w *reasons) pinned(i int) reason.Reason {
	j, n := &w.jobs[i], w.size[i]
	if n != j.Now {
		return reason.Resizes{From: j.Now, To: n, Because: reason.PinnedTo{GPUs: j.Pin}}
	}
	keeps := reason.Keeps{GPUs: n}
	if n == j.Pin {
		keeps.Because = reason.Pinned
		return keeps
	}
	but := reason.PinnedBut{GPUs: j.Pin}
	switch {
	case j.Pin < n && w.strands(j):
		but.Because = reason.Stranded
	case j.Pin < n:
		but.Because = reason.NoSplit{GPUs: j.Pin}
	case j.blocked != nil:
		but.Because = reason.StartsFirst{Job: int64(j.blocked.ID)}
	default:
		but.Because = reason.MoreIdle{More: j.Pin - n, Idle: j.pool.free(w.idle)}
	}
	keeps.Because = but
	return keeps
}

// shrinks returns why a running job gets fewer GPUs: it is faster on fewer, or others wait.
func (w *reasons) shrinks(i int) reason.Reason {
	j, n := &w.jobs[i], w.size[i]
	why := reason.Resizes{From: j.Now, To: n}
	lost := j.seconds(n) - j.seconds(j.Now)
	if w.base[i] < j.Now && lost < 0 { // given back for its own sake, see shrinkSlowed
		why.Because = reason.FewerFaster{Saves: -lost, Of: j.seconds(j.Now), Cost: j.ResizeCost, Assumed: j.Assumed()}
		return why
	}
	why.Because = reason.Join(w.served(), j.takes(j.cost(n)))
	return why
}

// takes compares the remaining time at the new size with that at the present one.
func (j *job) takes(seconds float64) reason.Reason {
	return reason.RestTakes{After: seconds, Before: j.seconds(j.Now), Assumed: j.Assumed()}
}

// grows returns what a running job saves by more GPUs, beside the resize cost and the idle GPUs.
func (w *reasons) grows(i int) reason.Reason {
	j, n := &w.jobs[i], w.size[i]
	saved, _ := j.saves(n, w.snap.Limits.Payback)
	return reason.Resizes{From: j.Now, To: n, Because: reason.Saves{
		Saves: saved, Of: j.seconds(j.Now), Cost: j.ResizeCost, Assumed: j.Assumed(), WereIdle: j.pool.free(w.spare)}}
}

func (w *reasons) keeps(i int) reason.Reason {
	return reason.Keeps{GPUs: w.size[i], Because: w.noGrowth(i)}
}

// noGrowth returns why a job gets no more than it has: the first obstacle.
func (w *reasons) noGrowth(i int) reason.Reason {
	j, n := &w.jobs[i], w.size[i]
	next := 0
	for _, k := range j.sizes {
		if k > n {
			next = k
			break
		}
	}
	idle := j.pool.free(w.idle)
	switch {
	case j.Unproven && !j.HasGPUs() && j.Pin == 0:
		return reason.UnprovenGrows
	case next == 0:
		return w.most(j, n)
	case j.blocked != nil:
		return reason.ComesFirst{Job: int64(j.blocked.ID), GPUs: j.blocked.Least()}
	case j.Finished():
		return reason.WorkDone
	case j.HasGPUs() && w.snap.Resting(&j.Job):
		return roles.RestsUntil(w.snap, &j.Job)
	case idle == 0 && len(w.wants) > 0:
		return reason.IdleKept{Job: int64(w.wants[0].id)}
	case idle == 0:
		return reason.NoneIdle
	case next-n > idle:
		return reason.NextSize{Next: next, Idle: idle}
	}
	return w.notWorth(i, idle)
}

// notWorth returns why idle GPUs that the job could use are not worth a resize. The caller has
// checked that the next larger size needs at most idle GPUs.
func (w *reasons) notWorth(i, idle int) reason.Reason {
	j, n := &w.jobs[i], w.size[i]
	best, most := 0, math.Inf(-1)
	for _, k := range j.sizes {
		if k > n && k-n <= idle {
			if saved := j.seconds(n) - j.seconds(k); saved > most {
				best, most = k, saved
			}
		}
	}
	_, worth := j.saves(best, w.snap.Limits.Payback)
	switch {
	case most <= 0:
		return reason.NotFaster{Idle: idle}
	case j.HasGPUs() && !worth:
		return reason.WouldSave{GPUs: best, Saves: most, Cost: j.ResizeCost, Payback: w.snap.Limits.Payback, Assumed: j.Assumed()}
	}
	return reason.IdleUnfit{Idle: idle, Or: j.HasGPUs()}
}

// most returns why no accepted size is above n.
func (w *reasons) most(j *job, n int) reason.Reason {
	if j.Spec.Max > 0 && !slices.ContainsFunc(j.Spec.Options(j.Spec.Max), func(k int) bool { return k > n }) {
		return reason.AtMaximum
	}
	return reason.NoLargerSize
}
