package audit

import "time"

// saved is how long slurmctld works on, at most, before a change of a job is in its saved
// state: it saves SAVE_MAX_WAIT (5 s, src/slurmctld/state_save.c) after it began to save the
// last time, which 22.05 counts in whole seconds and looks at once a second, and writing
// takes its time.
const saved = 10 * time.Second

// undone reports whether slurmctld forgot that end: it was killed before it saved it, the
// one that started next found the job running, and nothing has ended it since. sluiced hears
// of such an end by chance only. An end that slurmctld outlived by more than a save binds.
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
