package audit

import (
	"fmt"
	"time"
)

// story is what sluiced said about one job.
type story struct {
	ended  Event // the last one, unless it was adopted since; none when Number is 0
	opened Event // of the open move; likewise
	last   Event // of any kind
}

// nothingForgotten: I2, sluiced hears of every end, takes no job for ended that
// Slurm runs, leaves no move open, and takes up every tagged job.
func (c *check) nothingForgotten() {
	until := c.horizon()
	stories := c.stories()
	finals := c.finals()
	for _, id := range sorted(stories) {
		s := stories[id]
		if f, over := finals[id]; over && s.ended.Number == 0 && until.Sub(f.End) > c.o.Patience && !c.runAfter(id, f.End) && !s.last.At.After(f.End.Add(f.Grain)) {
			c.broken("I2", id, f.End, fmt.Sprintf("ended as %s, and sluiced said nothing about it within %s", f.State, until.Sub(f.End).Round(time.Second)), f.Line, s.last.Line)
		}
		c.endedRuns(id, until)
		if s.opened.Number > 0 && until.Sub(s.opened.At) > c.o.Open {
			c.broken("I2", id, s.opened.At, fmt.Sprintf("its move has been open for %s", until.Sub(s.opened.At).Round(time.Second)),
				s.opened.Line, c.lastEvent(id, until).Line)
		}
	}
	c.neverAdopted(until)
}

// stories sums up the events of each job of sluice's.
func (c *check) stories() map[int64]story {
	all := map[int64]story{}
	for id := range c.ours {
		all[id] = story{}
	}
	for _, e := range c.Events {
		s, known := all[e.Job]
		if !known {
			continue
		}
		s.last = e
		switch e.Kind {
		case "adopted":
			s.ended = Event{}
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

// runAfter reports whether Slurm ran or requeued the job at that time or later.
func (c *check) runAfter(id int64, at time.Time) bool {
	for _, r := range c.Controller {
		if r.Job == id && (r.Kind == Allocated || r.Kind == Requeued) && !r.At.Before(at) {
			return true
		}
	}
	return false
}

// endedRuns: a job that sluiced takes for ended does not run on, unless sluiced
// takes it up again.
func (c *check) endedRuns(id int64, until time.Time) {
	for _, r := range c.Controller {
		if r.Job != id || r.Kind != Allocated || until.Sub(r.At) <= c.o.Patience {
			continue
		}
		var ended Event
		for _, e := range c.Events {
			switch {
			case e.Job != id:
			case e.Kind == "ended" && e.At.Before(r.At):
				ended = e
			case e.Kind == "adopted" && !e.At.After(r.At.Add(c.o.Patience)):
				ended = Event{}
			}
		}
		if ended.Number > 0 {
			c.broken("I2", id, r.At, "sluiced took it for ended, and Slurm ran it afterwards", ended.Line, r.Line)
			return
		}
	}
}

// neverAdopted: every job that carries a tag at the end was taken up.
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
		c.broken("I2", s.Job, r.At, fmt.Sprintf("carries sluice's comment, and sluiced did not take it up within %s", until.Sub(r.At).Round(time.Second)), r.Line, s.Line)
	}
}
