package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/slurm"
)

// How old the site's limits may be: limitsPeriod, or limitsCycles cycles where these
// are short; limitsAgain while a job is between two sizes, or Slurm gives a limit as
// the reason why one waits; and limitsFresh when a move is opened.
const (
	limitsPeriod = time.Minute
	limitsCycles = 6
	limitsAgain  = 15 * time.Second
	limitsFresh  = time.Second
)

// limitsOld is how old limits may be in the look at these jobs.
func (st *State) limitsOld(jobs []slurm.Job) time.Duration {
	most := st.limitsPeriod()
	if len(st.open) > 0 || st.limited(jobs) {
		most = min(most, limitsAgain)
	}
	return most
}

// limitsPeriod is how old limits may be in peace.
func (st *State) limitsPeriod() time.Duration {
	return min(limitsPeriod, limitsCycles*st.Rules.Period)
}

// askLimits reads the site's limits unless those known are younger than that, and
// reports whether they are others now. Where limits cannot be read the last ones stand; where
// none were ever read no job gets more than it has or its minimum (see caps).
func (e *Engine) askLimits(ctx context.Context, most time.Duration, now time.Time) bool {
	first := !e.eyes.limitsFailed()
	fresh, read, err := e.eyes.siteLimits(ctx, most, e.limitsPeriod(), now)
	if err != nil && first {
		e.Tell(now, 0, "problem", "the site's limits cannot be read; those known stand: "+err.Error())
	}
	return read && e.tookLimits(fresh)
}

// tookLimits takes in the site's limits, and reports whether they are others than before.
func (st *State) tookLimits(fresh slurm.Limits) bool {
	changed := !st.site.Known || !reflect.DeepEqual(st.site.Limits, fresh)
	st.site = eligible.Read(fresh, st.Rules.Edge)
	return changed
}

// byFreshLimits makes sure that a plan that opens moves was made by limits that are fresh.
// waits: Slurm has been asked for them and has not answered yet, so that nothing is opened in
// this cycle. Once it has failed to answer those known stand.
func (e *Engine) byFreshLimits(ctx context.Context, v look, s elastic.Snapshot, plan elastic.Plan, now time.Time) (_ elastic.Snapshot, _ elastic.Plan, waits bool) {
	if len(plan.Open) == 0 {
		return s, plan, false
	}
	if e.askLimits(ctx, limitsFresh, now) {
		s = e.picture(v, now)
		plan = e.decide(s)
	}
	if len(plan.Open) == 0 {
		return s, plan, false
	}
	late, first := e.eyes.limitsLate()
	if !late {
		return s, plan, false
	}
	if first {
		e.Tell(now, 0, "problem", "no move is opened now: Slurm has been asked for the site's limits and has not answered yet")
	}
	plan.Open = nil
	return s, plan, true
}

// limited reports whether Slurm leaves one of sluice's jobs waiting for a limit, or one
// is of an account or user of which nothing is known.
func (st *State) limited(jobs []slurm.Job) bool {
	for _, sj := range jobs {
		if js := st.byID[elastic.JobID(sj.ID)]; js != nil && !js.shown.disown && st.site.Outdated(sj) {
			return true
		}
	}
	return false
}
