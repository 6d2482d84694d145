package engine

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
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

// limitsSeen is what is known of the site's limits.
type limitsSeen struct {
	slurm.Limits
	known bool      // they were read once
	asked time.Time // last, in vain or not
	why   string    // why they could not be read the last time
}

// lookAtLimits asks for the site's limits when those known are old.
func (e *Engine) lookAtLimits(ctx context.Context, jobs []slurm.Job, now time.Time) {
	most := min(limitsPeriod, limitsCycles*e.cfg.Period)
	if len(e.open) > 0 || e.limited(jobs) {
		most = min(most, limitsAgain)
	}
	e.askLimits(ctx, most, now)
}

// askLimits reads the site's limits unless those known are younger than that, and
// reports whether they are others now. Where they cannot be read the last ones stand;
// where none were ever read no job gets more than it has or its minimum (see caps).
func (e *Engine) askLimits(ctx context.Context, most time.Duration, now time.Time) bool {
	l := &e.limits
	if e.cfg.Limiter == nil || !l.asked.IsZero() && now.Sub(l.asked) < most {
		return false
	}
	l.asked = now
	fresh, err := e.cfg.Limiter.Limits(ctx)
	if err != nil {
		if l.why == "" {
			e.event(now, 0, "problem", "the site's limits cannot be read; those known stand: "+err.Error())
		}
		l.why = err.Error()
		return false
	}
	changed := !l.known || !reflect.DeepEqual(l.Limits, fresh)
	l.Limits, l.known, l.why = fresh, true, ""
	return changed
}

// members are the accounts and users that were in the answer.
func (l *limitsSeen) members() map[[2]string]bool {
	known := make(map[[2]string]bool, len(l.Associations))
	for _, a := range l.Associations {
		known[[2]string{a.Account, a.User}] = true
	}
	return known
}

// limited reports whether Slurm leaves one of sluice's jobs waiting for a limit, or one
// is of an account or user of which nothing is known.
func (e *Engine) limited(jobs []slurm.Job) bool {
	members := e.limits.members()
	for _, sj := range jobs {
		js := e.byID[elastic.JobID(sj.ID)]
		if js == nil || js.disown || sj.State != slurm.Pending {
			continue
		}
		if e.limits.Enforced && !members[[2]string{sj.Account, sj.User}] {
			return true
		}
		if sj.Held {
			continue
		}
		for _, head := range []string{"Assoc", "QOS", "Max", "Partition", "Reserv", "ReqNodeNotAvail"} {
			if strings.HasPrefix(sj.Reason, head) {
				return true
			}
		}
	}
	return false
}
