package audit

import "time"

// saved is the longest time until a change of a job is in slurmctld's saved state: it saves
// SAVE_MAX_WAIT (5 s, src/slurmctld/state_save.c) after the start of the last save. 22.05 counts
// that in whole seconds and checks it once a second; writing takes additional time.
const saved = 10 * time.Second

// undone reports whether slurmctld lost that end: it was killed before it saved the end, the next
// slurmctld found the job running, and the job has not ended since. sluiced may have missed such
// an end. If slurmctld ran for longer than saved after the end, the end counts.
func (c *check) undone(f Completion) bool {
	last := f.End // that a slurmctld did which knew of the end
	booted, back := false, false
	for _, r := range c.Controller {
		switch {
		case r.At.Before(f.End):
		case r.Kind == Booted:
			booted = true
		case !booted:
			last = r.At
		}
		if r.Job != f.Job || r.At.Before(f.End) {
			continue
		}
		switch r.Kind {
		case Recovered:
			back = booted && r.Runs && last.Sub(f.End) <= saved
		case Freed, Cleaned:
			back = false
		}
	}
	return back
}
