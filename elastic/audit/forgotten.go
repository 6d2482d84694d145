package audit

import (
	"fmt"
	"slices"
	"time"
)

// story is what sluiced logged about one job.
type story struct {
	ended  Event // the last end since it was adopted; none if Number is 0
	opened Event // of the open move; none if Number is 0
	last   Event // of any kind
	cared  Event // last event of a life of sluiced that knew the job
	began  Event // last adoption
	alone  bool  // the user removed the tag
}

// nothingForgotten: I2. sluiced notices every end that is final, does not treat a job as ended
// that Slurm runs, leaves no move open, and adopts every tagged job.
func (c *check) nothingForgotten() {
	until := c.horizon()
	stories := c.stories()
	finals := c.finals()
	lastStart := 0
	for _, e := range c.Events {
		if e.Kind == "starts" {
			lastStart = e.Number
		}
	}
	for _, id := range sorted(stories) {
		s := stories[id]
		if f, over := finals[id]; over && !s.last.At.After(f.End.Add(f.Grain)) && c.owed(s, f, until) {
			c.broken("I2", id, f.End, fmt.Sprintf("ended as %s, and sluiced did not log it within %s", f.State, until.Sub(f.End).Round(time.Second)), f.Line, s.last.Line).Kind = Unnoticed
		}
		c.endedRuns(id, until)
		// If a later life did not take the move up, the journal had it as closed or was lost.
		// sluiced does not log the close when it is killed between the two.
		if s.opened.Number > lastStart && until.Sub(s.opened.At) > c.o.Open {
			c.broken("I2", id, s.opened.At, fmt.Sprintf("its move has been open for %s", until.Sub(s.opened.At).Round(time.Second)),
				s.opened.Line, c.lastEvent(id, until).Line)
		}
	}
	c.neverAdopted(until)
}

// owed reports whether sluiced should have logged that end by now: the end of the last run of
// the job that it knows.
func (c *check) owed(s story, f Completion, until time.Time) bool {
	return s.ended.Number == 0 && until.Sub(c.cleaned(f, until)) > c.o.Patience &&
		!c.unknown(s, f) && !c.another(s, f) && !c.runAfter(f) && !c.undone(f)
}

// cleaned returns when a job that is over was cleaned up on its nodes. Slurm shows it as
// completing until then. A node that does not answer delays this until it is back or marked
// down, possibly past the end of the log.
func (c *check) cleaned(f Completion, until time.Time) time.Time {
	at, pending := f.End, false
	if !c.cleans {
		return at
	}
	for _, r := range c.did[f.Job] {
		switch {
		case r.At.Before(f.End):
		case r.Kind == Freed:
			pending = true
		case r.Kind == Cleaned:
			at, pending = r.At, false
		}
	}
	if pending {
		return until
	}
	return at
}

// cycle is how long the record of an adopted job may still be unsaved.
const cycle = 5 * time.Second

// unknown reports whether sluiced may not have known of that end. Either the record of the
// job's adoption may have been unsaved at a restart, or the store was emptied or restored to an
// older state after sluiced last managed the job. And either the job ended before the daemon
// that started then could see it, or that daemon logged that it leaves the job alone, or the
// user removed the tag.
func (c *check) unknown(s story, f Completion) bool {
	alone := s.alone || c.untagged(f.Job, s.began.At, f.End)
	began := "emptied"
	if alone || s.cared.At.Sub(s.began.At) < cycle {
		began = "starts"
	}
	for i, e := range c.Events {
		if e.Kind != began || e.At.Before(s.cared.At) || e.Line.Number < s.cared.Number {
			continue
		}
		if alone || s.last.Kind == "problem" && s.last.Number > e.Number || f.End.Before(c.sees(i).Add(c.o.Patience)) {
			return true
		}
	}
	return false
}

// untagged reports whether an account other than sluiced's wrote a comment on the job in the
// span. If sluiced runs as that user, only a comment without a tag counts.
func (c *check) untagged(id int64, from, to time.Time) bool {
	return slices.ContainsFunc(c.did[id], func(r Record) bool {
		return r.Kind == Changed && r.Change.Comment && (r.Change.Token == "" || r.UID != c.uid) && !r.At.Before(from) && !r.At.After(to)
	})
}

// sees returns when the daemon whose life began with the i-th event first saw Slurm.
func (c *check) sees(i int) time.Time {
	for _, e := range c.Events[i+1:] {
		switch e.Kind {
		case "emptied", "starts", "taken", "blind":
		default:
			return e.At
		}
	}
	return c.Events[len(c.Events)-1].At
}

// stories sums up the events of each job of sluice.
func (c *check) stories() map[int64]story {
	all := map[int64]story{}
	for id := range c.ours {
		all[id] = story{}
	}
	emptied := 0 // the last line that says so
	for _, e := range c.Events {
		if e.Kind == "emptied" {
			emptied = e.Number
		}
		s, known := all[e.Job]
		if !known {
			continue
		}
		s.last = e
		if e.Kind != "problem" && e.Kind != "taken" && !(e.Kind == "close" && e.State == unknownState) {
			s.cared = e
		}
		orphan := s.opened.Number < emptied // only the lost store knew of the move
		switch e.Kind {
		case "problem":
			s.alone = s.alone || e.Problem == untagged
			if orphan && (s.alone || e.Problem == broken) {
				s.opened = Event{} // nothing says which job it is
			}
		case "adopted":
			s.ended, s.alone, s.began = Event{}, false, e
			if orphan {
				s.opened = Event{}
			}
		case "ended":
			s.ended = e
		case "open", "taken":
			s.opened = e
		case "close":
			s.opened = Event{}
		}
		all[e.Job] = s
	}
	return all
}

// runAfter reports whether Slurm ran or requeued the job at or after the end of that run. The
// run's own start does not count, even if it is later within the same second.
func (c *check) runAfter(f Completion) bool {
	own := f.Start.Add(f.Grain)
	return slices.ContainsFunc(c.did[f.Job], func(r Record) bool {
		if r.At.Before(f.End) {
			return false
		}
		return r.Kind == Allocated && !r.At.Before(own) || r.Kind == Requeued || r.Again
	})
}

// unknownState is the state that sluiced gives to a job that it does not know.
const unknownState = "gone"

// Problems of a job that sluiced sees and does not manage: its user removed its comment, or
// broke it after its end, or the folder of its token cannot be read.
const (
	untagged = "untagged"
	broken   = "unreadable"
	noFolder = "folder"
)

// endedRuns: a job that sluiced takes for ended does not run on, unless sluiced adopts or moves
// it again, its user took it out of sluice's control, or its number was given to another job.
func (c *check) endedRuns(id int64, until time.Time) {
	// Before the first logged end there is nothing to check.
	first := slices.IndexFunc(c.said[id], func(e Event) bool { return e.Kind == "ended" })
	for _, r := range c.did[id] {
		if r.Kind != Allocated || until.Sub(r.At) <= c.o.Patience || first < 0 || !c.said[id][first].At.Before(r.At) {
			continue
		}
		var ended Event
		alone, by, reused := false, r.At.Add(c.o.Patience), c.renumbered(id, r.At)
		if back, away := c.backAfter(r.At); away {
			by = back.Add(c.o.Patience)
		}
		for _, e := range c.said[id] {
			switch {
			case e.Kind == "problem" && e.At.Before(by) && (e.Problem == untagged || e.Problem == broken || e.Problem == noFolder && ended.Number > 0):
				alone = true
			case e.Kind == "ended" && e.At.Before(r.At) && !reused:
				ended = e
			case e.Kind == "adopted" && !e.At.After(by):
				ended, alone = Event{}, false
			case (e.Kind == "taken" || e.Kind == "run") && ended.Number > 0 && !e.At.After(by) && c.startsBetween(ended, e):
				ended = Event{} // it looks after the job again: its journal had not taken the end
			case e.Kind == "open" && !e.At.After(r.At):
				ended = Event{} // a later life of the daemon adopted it again
			}
		}
		if ended.Number > 0 && !alone && !c.missed(r) && !c.untagged(id, ended.At, by) {
			c.broken("I2", id, r.At, "sluiced logged its end, and Slurm ran it afterwards", ended.Line, r.Line)
			return
		}
	}
}

// startsBetween reports whether a life of sluiced began between two events.
func (c *check) startsBetween(a, b Event) bool {
	return slices.ContainsFunc(c.Events, func(e Event) bool {
		return e.Kind == "starts" && e.Number > a.Number && e.Number < b.Number
	})
}

// renumbered reports whether the number was given to a second job by then, because slurmctld
// had forgotten the first.
func (c *check) renumbered(id int64, by time.Time) bool {
	given := 0
	for _, r := range c.did[id] {
		if r.Kind == Submitted && !r.At.After(by) {
			given++
		}
	}
	return given > 1
}

// another reports whether the number belonged to a second job at that end, one that sluiced
// never managed.
func (c *check) another(s story, f Completion) bool {
	last := Record{}
	for _, r := range c.did[f.Job] {
		if r.Kind == Submitted && !r.At.After(f.End) {
			last = r
		}
	}
	return c.renumbered(f.Job, f.End) && s.cared.At.Before(last.At)
}

// missed reports whether the run was over before sluiced, which was stopped or could not see
// Slurm, saw it.
func (c *check) missed(run Record) bool {
	back, away := c.backAfter(run.At)
	return away && slices.ContainsFunc(c.did[run.Job], func(r Record) bool {
		return r.Kind == Freed && r.At.After(run.At) && !r.At.After(back)
	})
}

// backAfter reports when sluiced, if it was away at that time, started or saw Slurm again.
func (c *check) backAfter(at time.Time) (back time.Time, away bool) {
	blind := false
	for i, e := range c.Events {
		switch {
		case e.At.Before(at):
			blind = e.Kind == "blind" || blind && e.Kind != "sighted" && e.Kind != "starts"
		case blind && (e.Kind == "sighted" || e.Kind == "starts"), e.Kind == "starts" && (i == 0 || c.Events[i-1].At.Before(at)):
			return e.At, true
		case !blind:
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// neverAdopted: every job that has a tag at the end was adopted.
func (c *check) neverAdopted(until time.Time) {
	submitted := map[int64]Record{}
	for _, r := range c.Controller {
		if r.Kind == Submitted {
			submitted[r.Job] = r
		}
	}
	for _, s := range c.Shown {
		r, known := submitted[s.Job]
		live := s.State == "PENDING" || s.State == "RUNNING"
		if _, ours := c.ours[s.Job]; ours || !s.Tagged || !live || !known || until.Sub(r.At) <= c.o.Patience {
			continue
		}
		c.broken("I2", s.Job, r.At, fmt.Sprintf("has sluice's comment, and sluiced did not adopt it within %s", until.Sub(r.At).Round(time.Second)), r.Line, s.Line)
	}
}
