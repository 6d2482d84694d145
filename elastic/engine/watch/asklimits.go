package watch

import (
	"context"
	"time"
)

// AskLimits reads the site's limits unless the known ones are younger than most, and reports whether
// they changed. If they cannot be read the last ones apply. If they were never read, no job gets
// more than it has or its minimum (see eligible.Look.Caps).
func (w *Watch) AskLimits(ctx context.Context, most time.Duration, now time.Time) bool {
	first := !w.Observer.LimitsFailed()
	fresh, read, err := w.Observer.SiteLimits(ctx, most, w.Rules.LimitsPeriod(), now)
	if err != nil && first {
		w.Tell(now, 0, "problem", "the site's limits cannot be read; those known stand: "+err.Error())
	}
	return read && w.TookLimits(fresh)
}
