package track

import (
	"slices"
	"time"
)

// Rewind lowers every remembered time that lies after now, because the clock was set back by
// an administrator or by NTP. Otherwise nodes would count as lost, and jobs and moves would
// wait, for as long as the clock had been ahead, which may be years. Waits that end in the
// future are lowered to their longest duration from now. It MUST be called at the start of each
// cycle, BEFORE a remembered time is compared with now; if the clock was not set back it changes
// nothing. A new time in Job, Moments or a move MUST be lowered here: a test sets all of them and
// looks for those that stay ahead. The latest time ever seen is kept in ahead, so that a begin time
// that was reached counts as reached.
func (st *State) Rewind(now time.Time) {
	for node, at := range st.Lost {
		if at.After(now) {
			st.Lost[node] = now
		}
	}
	for _, js := range st.Jobs {
		atMost(&js.Placing.rest, now.Add(settling))
		atMost(&js.Placing.uncertainUntil, now.Add(late))
		atMost(&js.Mail.silent, now)
		atMost(&js.Mail.doubted, now)
		atMost(&js.Mail.quiet.since, now)
		atMost(&js.Placing.Refused.Start.Last, now)
		atMost(&js.Placing.Refused.Resize.Last, now)
		atMost(&js.Placing.Refused.Obstacle.Last, now)
		atMost(&js.Mail.Heard, now)
		atMost(&js.Mail.Exited.seen, now)
		atMost(&js.Mail.shortened.next, now.Add(shortMost))
		atMost(&js.Shown.placeless, now)
		atMost(&js.Shown.splitAsked, now)
		atMost(&js.Shown.Begins.looked, now)
		atMost(&js.Shown.Begins.wrote, now)
		atMost(&js.Placing.saving, now)
		atMost(&js.Placing.PassAsked, now)
		atMost(&js.rescue.stranded.last, now)
		atMost(&js.rescue.cleared.last, now)
		atMost(&js.Over.noticed, now)
		atMost(&js.Over.looked, now)
		moved, ended := atMost(&js.Rec.Moved, now), atMost(&js.Rec.Ended, now)
		js.Dirty = js.Dirty || moved || ended
	}
	atMost(&st.accounts.next, now.Add(accountsRest))
	atMost(&st.away, now)
	atMost(&st.Began, now)
	st.ahead = Later(st.ahead, st.Last.Now)
	atMost(&st.Last.Now, now)
	st.Open = slices.Clone(st.Open) // the last report has the old ones
	for i := range st.Open {
		for _, t := range st.Open[i].Times() {
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

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
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
