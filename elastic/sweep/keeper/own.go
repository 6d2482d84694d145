package keeper

import (
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// A trial that is a job of its own (sweep.OwnJobs) goes on in that job as long as there is one: it is
// resized, preempted and held as any job. A job ends after its trial, if a later job of the sweep is
// there for each trial that is left; else it runs another one, so that none is left over.

// kept returns the lanes whose trials go on in no other lane; nil if trials are not jobs of their own.
func (p Plan) kept(lanes []Lane) map[string]bool {
	if !p.Sweep.OwnJobs {
		return nil
	}
	out := map[string]bool{}
	for _, l := range lanes {
		out[l.Token] = !l.Ended
	}
	return out
}

// nextOf chooses what a lane that asks runs next; nil = nothing. A trial that lost does not go on
// beside trials that are jobs: idle GPUs are theirs.
func (s *step) nextOf(l Lane, lanes []Lane, idle bool) *book.Telling {
	if !s.plan.Sweep.OwnJobs {
		return s.next(idle)
	}
	if t := s.own(l.Token); t != nil {
		return again(t)
	}
	if s.Answers[l.Token].Trial > 0 && s.left() <= s.toCome(lanes) {
		return nil
	}
	return s.next(false)
}

// own returns the trial that was begun in a lane and goes on there; nil if there is none.
func (s *step) own(lane string) *book.Trial {
	for _, t := range s.Trials {
		if t.Lane == lane && t.State == book.Waiting && t.Point != "" {
			return t
		}
	}
	return nil
}

// left counts the trials that any lane may begin or go on with. Of a space that is smaller than the
// number of trials it counts too many.
func (s *step) left() int {
	n := max(0, s.plan.Sweep.Trials-len(s.Trials))
	for _, t := range s.Trials {
		if t.Point == "" || t.State == book.Waiting && !s.kept[t.Lane] {
			n++
		}
	}
	return n + len(s.returning())
}

// toCome counts the lanes that will ask and have no trial of their own. One that has asked in its
// present run is not counted: it is served in this step, or was.
func (s *step) toCome(lanes []Lane) (n int) {
	has := map[string]bool{}
	for _, t := range s.Trials {
		has[t.Lane] = has[t.Lane] || !t.Rests()
	}
	for _, l := range lanes {
		if !l.Ended && !has[l.Token] && (l.Gone || !l.Asks) {
			n++
		}
	}
	return n
}
