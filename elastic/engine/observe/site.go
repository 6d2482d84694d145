package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// limitsAsked is how asking for the site's limits goes.
type limitsAsked struct {
	asked time.Time // when what is known was asked for, or the last question failed
	tried time.Time // the cycle that asked last
	late  time.Time // since when Slurm has been asked and has not answered; zero = it has
	why   string    // why they could not be read the last time
	told  bool      // that they are late
}

// SiteLimits asks for the site's limits unless those known are younger than most, or, after a question
// that failed, than again. An answer that is late is taken by the cycle that finds it: Slurm has
// none that are fresher. read: there is an answer.
func (o *Observer) SiteLimits(ctx context.Context, most, again time.Duration, now time.Time) (fresh slurm.Limits, read bool, err error) {
	l := &o.limits
	if o.Limiter == nil || !l.due(most, again, now) {
		return fresh, false, nil
	}
	l.tried = now
	fresh, err = o.Limiter.Limits(ctx)
	began := now
	switch asking := errors.Is(err, ErrAsking); {
	case asking && l.late.IsZero():
		l.late = now
		return fresh, false, nil
	case asking && now.Sub(l.late) < limitsPatience:
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

// LimitsFailed reports whether the last question for the limits failed.
func (o *Observer) LimitsFailed() bool { return o.limits.why != "" }

// LimitsLate reports whether Slurm has been asked for the limits and has neither answered nor
// counts as having failed to; first: for the first time since its last answer.
func (o *Observer) LimitsLate() (late, first bool) {
	l := &o.limits
	if l.late.IsZero() || l.why != "" {
		return false, false
	}
	first, l.told = !l.told, true
	return true, first
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

// Rewind takes for now what is remembered as later than now: the clock was set back since.
func (o *Observer) Rewind(now time.Time) {
	for _, t := range []*time.Time{&o.limits.asked, &o.limits.late} {
		if t.After(now) {
			*t = now
		}
	}
}

// limitsPatience is how long a question for the site's limits may be under way before it counts
// as failed.
const limitsPatience = time.Minute
