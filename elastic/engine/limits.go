package engine

import (
	"context"
	"errors"
	"fmt"
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

// limitsAsked is how asking for the site's limits goes.
type limitsAsked struct {
	asked time.Time // when what is known was asked for, or the last question failed
	tried time.Time // the cycle that asked last
	late  time.Time // since when Slurm has been asked and has not answered; zero = it has
	why   string    // why they could not be read the last time
	told  bool      // that moves wait for them
}

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
	first := e.eyes.limits.why == ""
	fresh, read, err := e.eyes.siteLimits(ctx, most, e.limitsPeriod(), now)
	if err != nil && first {
		e.event(now, 0, "problem", "the site's limits cannot be read; those known stand: "+err.Error())
	}
	return read && e.tookLimits(fresh)
}

// tookLimits takes in the site's limits, and reports whether they are others than before.
func (st *State) tookLimits(fresh slurm.Limits) bool {
	changed := !st.site.Known || !reflect.DeepEqual(st.site.Limits, fresh)
	st.site = eligible.Read(fresh, st.Rules.Edge)
	return changed
}

// siteLimits asks for the site's limits unless those known are younger than most, or, after a question
// that failed, than again. An answer that is late is taken by the cycle that finds it: Slurm has
// none that are fresher. read: there is an answer.
func (y *eyes) siteLimits(ctx context.Context, most, again time.Duration, now time.Time) (fresh slurm.Limits, read bool, err error) {
	l := &y.limits
	if y.limiter == nil || !l.due(most, again, now) {
		return fresh, false, nil
	}
	l.tried = now
	fresh, err = y.limiter.Limits(ctx)
	began := now
	switch asking := errors.Is(err, ErrAsking); {
	case asking && l.late.IsZero():
		l.late = now
		return fresh, false, nil
	case asking && now.Sub(l.late) < limitsPeriod:
		return fresh, false, nil
	case asking: // it counts as failed, and is still asked
		err = fmt.Errorf("Slurm has not answered for %s", now.Sub(l.late).Round(time.Second))
	case !l.late.IsZero():
		began, l.late = l.late, time.Time{}
	}
	l.told = false
	if err != nil {
		l.asked, l.why = now, err.Error()
		return fresh, false, err
	}
	l.asked, l.why = began, ""
	return fresh, true, nil
}

// due reports whether the limits are to be asked for: those known are older than most, or,
// after a question that failed, than again. Once a cycle is enough, unless what it got had
// been under way for as long as limits count as known.
func (l *limitsAsked) due(most, again time.Duration, now time.Time) bool {
	age := now.Sub(l.asked)
	switch {
	case l.tried.Equal(now) && (!l.late.IsZero() || age < again):
		return false
	case !l.late.IsZero(), l.asked.IsZero():
		return true
	case l.why != "": // a slurmdbd that hangs takes a call's whole deadline
		most = max(most, again)
	}
	return age >= most
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
	l := &e.eyes.limits
	if len(plan.Open) == 0 || l.late.IsZero() || l.why != "" {
		return s, plan, false
	}
	if !l.told {
		l.told = true
		e.event(now, 0, "problem", "no move is opened now: Slurm has been asked for the site's limits and has not answered yet")
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

// rewind takes for now what is remembered as later than now. See State.rewind.
func (y *eyes) rewind(now time.Time) {
	atMost(&y.limits.asked, now)
	atMost(&y.limits.late, now)
}
