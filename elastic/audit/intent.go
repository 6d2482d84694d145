package audit

import (
	"fmt"
	"time"
)

// announced is an action that sluiced logged before it.
type announced struct {
	Event
	what        act
	incarnation int
	used        bool
}

// intentFirst: I5. Every change that Slurm made for sluiced was logged before. sluiced changes
// only its own jobs and cancels none. The effects of a move belong to a move that is in the
// journal.
func (c *check) intentFirst() {
	c.movesFirst()
	if c.uid < 0 {
		c.note("sluiced's log does not name the account it runs as: its changes of jobs are not checked (I5)")
		return
	}
	for _, run := range c.Completions {
		if _, ours := c.ours[run.Job]; ours && run.UID == c.uid {
			c.note(fmt.Sprintf("job %d belongs to sluiced's own account: changes by its user cannot be distinguished from sluiced's (I5)", run.Job))
			return
		}
	}
	acts := c.announcements()
	for _, r := range c.Controller {
		if r.UID != c.uid {
			continue
		}
		switch r.Kind {
		case Changed, Requeued, Signalled:
			c.report.Tally.Changes++
			c.hadIntent(r, acts[r.Job])
		}
	}
}

// movesFirst: sluiced stops and rewrites jobs only within moves, except for a run that it
// logged as stranded right before.
func (c *check) movesFirst() {
	open, closed, stranded := map[int64]bool{}, map[int64]Event{}, map[int64]bool{}
	for _, e := range c.Events {
		switch e.Kind {
		case "open", "taken":
			open[e.Job] = true
		case "close":
			open[e.Job] = false
			closed[e.Job] = e
		case "act":
			what := act(e.Act)
			if what == actCancel && open[e.Job] {
				c.broken("I5", e.Job, e.At, "sluiced cancels a job that it is moving", e.Line, c.effectOf(e).Line)
			}
			excused := what == actRequeue && stranded[e.Job]
			if (what == actWrite || what == actRequeue || what == actRevive || what == actClear || what == actAsk) && !open[e.Job] && !excused {
				c.broken("I5", e.Job, e.At, "sluiced acts for a move that it has not opened", closed[e.Job].Line, e.Line, c.effectOf(e).Line)
			}
		}
		stranded[e.Job] = e.Kind == "stranded"
	}
}

// effectOf returns Slurm's record of what an action announces, as far as it can be determined.
func (c *check) effectOf(e Event) Record {
	for _, r := range c.Controller {
		if r.Job == e.Job && (r.Kind == Changed || r.Kind == Requeued || r.Kind == Signalled) && !r.At.Before(e.At.Add(-e.Grain)) {
			return r
		}
	}
	return Record{}
}

// announcements lists the actions of each job in order.
func (c *check) announcements() map[int64][]*announced {
	acts := map[int64][]*announced{}
	for _, e := range c.Events {
		if e.Kind == "act" {
			acts[e.Job] = append(acts[e.Job], &announced{Event: e, what: act(e.Act), incarnation: e.Incarnation})
		}
	}
	return acts
}

// hadIntent looks for the announcement of one effect. The latest one that is early enough
// counts, and only once: a repeated effect needs another.
func (c *check) hadIntent(r Record, acts []*announced) {
	want, once := effects(r)
	var found, late *announced
	for _, a := range acts {
		switch {
		case !want[a.what] || once && a.used || a.what == actWrite && r.Change.Incarnation > 0 && a.incarnation != r.Change.Incarnation:
		case a.At.After(r.At.Add(max(a.Grain, r.Grain))):
			if late == nil && a.At.Sub(r.At) < c.o.Window {
				late = a
			}
		case r.At.Sub(a.At) <= c.o.Window:
			found = a
		}
	}
	if found != nil {
		found.used = found.used || once
		return
	}
	what := describe(r)
	if late != nil {
		late.used = late.used || once
		c.broken("I5", r.Job, r.At, fmt.Sprintf("Slurm %s for sluiced %s before sluiced logged it", what, late.At.Sub(r.At).Round(time.Millisecond)),
			r.Line, late.Line)
		return
	}
	last := c.lastEvent(r.Job, r.At)
	if _, ours := c.ours[r.Job]; !ours {
		c.broken("I5", r.Job, r.At, fmt.Sprintf("Slurm %s for sluiced, and it is not a job of sluice", what), r.Line)
		return
	}
	c.broken("I5", r.Job, r.At, fmt.Sprintf("Slurm %s for sluiced, and sluiced never logged it", what), r.Line, last.Line)
}

// effects returns the actions that may have caused a record. once: the action is used up by
// this effect.
func effects(r Record) (acts map[act]bool, once bool) {
	set := func(list ...act) map[act]bool {
		m := map[act]bool{}
		for _, a := range list {
			m[a] = true
		}
		return m
	}
	change := r.Change
	switch {
	case r.Kind == Requeued:
		return set(actRequeue, actRevive, actClear), true
	case r.Kind == Signalled && r.Signal != 9:
		return set(actAsk), true
	case r.Kind == Signalled:
		return set(actClear, actCancel), false // after a clearing it is revived
	case change.Comment && (change.Size || change.Begin):
		return set(actWrite), true
	case change.Size:
		return set(actWrite), true
	case change.Comment:
		return set(actAnnotate, actWrite), true
	case change.Released:
		return set(actRelease, actStart), true // Slurm itself held the job
	case change.Held:
		return set(actHold), true
	case change.Begin: // a write defers the start first
		return set(actDefer, actStart, actWrite), false
	case change.Requeueable:
		return set(actPass), true
	}
	return set(actWrite, actAnnotate, actDefer, actStart, actHold, actRelease, actPass), false // the call changed nothing
}

// describe returns what Slurm did, for people.
func describe(r Record) string {
	switch {
	case r.Kind == Requeued:
		return "requeued it"
	case r.Kind == Signalled && r.Signal == 9:
		return "cancelled it"
	case r.Kind == Signalled:
		return fmt.Sprintf("sent it signal %d", r.Signal)
	case r.Change.Released:
		return "released it"
	case r.Change.Held:
		return "held it"
	case r.Change.Size, r.Change.Comment:
		return "rewrote it"
	case r.Change.Begin:
		return "changed its begin time"
	}
	return "changed it"
}
