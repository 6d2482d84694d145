package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// limitsAsked is the state of the queries for the site's limits.
type limitsAsked struct {
	asked time.Time // when the query of the known limits began, or when the last query failed
	tried time.Time // time of the last cycle with a query
	late  time.Time // when the query began that has not been answered; zero = none
	ahead time.Time // when the query began whose answer AskAhead left to the next call; zero = none
	why   string    // error of the last query; "" = it succeeded
	told  bool      // LimitsLate has reported that the query is late
}

// Asker is a Limiter whose queries can begin before their answer is needed.
type Asker interface {
	// Ask begins a query, whose answer the next call of Limits returns and waits for. It returns
	// false, and begins none, while an earlier query is under way.
	Ask() bool
}

// LimitsFresh is the maximum age of the site's limits when a move is opened, from the beginning of
// their query. It is more than the time from a job's stop to the cycle that sees its GPUs free (a
// quarter of a second to 1.25 s by default), so that one query made at the stop serves that cycle.
const LimitsFresh = 2 * time.Second

// AskAhead begins a query for the site's limits without waiting for its answer, if the Limiter is an
// Asker. The next query that is due within LimitsFresh uses the answer; after that it is dropped.
// A site whose last query failed or is under way is not asked.
func (o *Observer) AskAhead(now time.Time) {
	l := &o.limits
	if a, can := o.Limiter.(Asker); can && l.late.IsZero() && l.why == "" && a.Ask() {
		l.ahead = now
	}
}

// SiteLimits queries the site's limits unless the known ones are younger than most or, after a failed
// query, than again. A late answer is used by the first cycle that finds it, with the age of its
// query. read: there is an answer.
func (o *Observer) SiteLimits(ctx context.Context, most, again time.Duration, now time.Time) (fresh slurm.Limits, read bool, err error) {
	l := &o.limits
	if o.Limiter == nil || !l.due(most, again, now) {
		return fresh, false, nil
	}
	l.tried = now
	fresh, began, err := o.askLimits(ctx, most, now)
	switch asking := errors.Is(err, ErrAsking); {
	case asking && l.late.IsZero():
		l.late = began
		return fresh, false, nil
	case asking && now.Sub(l.late) < limitsPatience:
		return fresh, false, nil
	case asking: // counts as failed; the query continues
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

// askLimits returns the answer to a query that AskAhead made at most LimitsFresh ago, or to one that
// it makes, and when that query began.
func (o *Observer) askLimits(ctx context.Context, most time.Duration, now time.Time) (fresh slurm.Limits, began time.Time, err error) {
	l := &o.limits
	ahead := l.ahead
	l.ahead = time.Time{}
	fresh, err = o.Limiter.Limits(ctx)
	switch {
	case ahead.IsZero():
		return fresh, now, err
	case errors.Is(err, ErrAsking) || now.Sub(ahead) < min(most, LimitsFresh):
		return fresh, ahead, err
	}
	fresh, err = o.Limiter.Limits(ctx) // what was asked for ahead is too old
	return fresh, now, err
}

// LimitsFailed reports whether the last query for the limits failed.
func (o *Observer) LimitsFailed() bool { return o.limits.why != "" }

// LimitsLate reports whether a query for the limits is under way that has not failed. first: it is
// reported for the first time since the last answer.
func (o *Observer) LimitsLate() (late, first bool) {
	l := &o.limits
	if l.late.IsZero() || l.why != "" {
		return false, false
	}
	first, l.told = !l.told, true
	return true, first
}

// due reports whether a query is due: the known limits are older than most or, after a failed query,
// than again. There is one query a cycle, and a second one only if the answer of the first is
// already older than again.
func (l *limitsAsked) due(most, again time.Duration, now time.Time) bool {
	age := now.Sub(l.asked)
	switch {
	case l.tried.Equal(now) && (!l.late.IsZero() || age < again):
		return false
	case !l.late.IsZero(), l.asked.IsZero():
		return true
	case l.why != "": // if slurmdbd hangs, every query takes until its timeout
		most = max(most, again)
	}
	return age >= most
}

// Rewind lowers remembered times that lie after now, because the clock was set back.
func (o *Observer) Rewind(now time.Time) {
	for _, t := range []*time.Time{&o.limits.asked, &o.limits.late, &o.limits.ahead, &o.shares.asked, &o.shares.late} {
		if t.After(now) {
			*t = now
		}
	}
}

// limitsPatience is how long a query for the site's limits may take before it counts as failed.
const limitsPatience = time.Minute
