package engine

import (
	"slices"
	"time"
)

// rewind takes for now what is remembered as later than now: the clock was set back
// since, by a person or by NTP. Else a node would count as lost, a job would rest and a
// move would wait for its deadline for as long as the clock had been ahead, for ever if
// that was years. A rest may end a little ahead.
func (st *State) rewind(now time.Time) {
	for node, at := range st.lost {
		if at.After(now) {
			st.lost[node] = now
		}
	}
	for _, js := range st.jobs {
		atMost(&js.placing.rest, now.Add(settling))
		atMost(&js.placing.unheard, now.Add(late))
		atMost(&js.mail.silent, now)
		atMost(&js.mail.quiet.since, now)
		atMost(&js.placing.refused.Start.Last, now)
		atMost(&js.placing.refused.Resize.Last, now)
		atMost(&js.placing.refused.Obstacle.Last, now)
		atMost(&js.shown.placeless, now)
		atMost(&js.placing.saving, now)
		atMost(&js.placing.passAsked, now)
		atMost(&js.rescue.stranded.last, now)
		atMost(&js.over.noticed, now)
		moved, ended := atMost(&js.rec.Moved, now), atMost(&js.rec.Ended, now)
		js.dirty = js.dirty || moved || ended
	}
	atMost(&st.accounts.next, now.Add(accountsRest))
	atMost(&st.away, now)
	atMost(&st.began, now)
	st.ahead = later(st.ahead, st.last.Now)
	atMost(&st.last.Now, now)
	st.open = slices.Clone(st.open) // the last report has the old ones
	for i := range st.open {
		for _, t := range st.open[i].Times() {
			atMost(t, now)
		}
	}
}

// atLeast raises t to least, unless it is zero.
func atLeast(t *time.Time, least time.Time) {
	if !t.IsZero() && t.Before(least) {
		*t = least
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// atMost lowers t to most and reports whether it had to.
func atMost(t *time.Time, most time.Time) bool {
	later := t.After(most)
	if later {
		*t = most
	}
	return later
}
