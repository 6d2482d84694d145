package audit

import (
	"fmt"
	"maps"
	"slices"
)

// oneRun: I1. By slurmctld's log, no run of a job begins while another has nodes. By the
// completion log, no two runs overlap.
func (c *check) oneRun() {
	c.replay(func(r Record, held map[int64]holding) {
		if h, runs := held[r.Job]; r.Kind == Allocated && runs {
			c.broken("I1", r.Job, r.At, "a run began while the one before still had its nodes", h.began.Line, r.Line, c.ours[r.Job].Line)
		}
	})
	last := map[int64]Completion{}
	for _, run := range c.Completions {
		if len(run.Nodes) == 0 || run.Start.IsZero() {
			continue
		}
		before, some := last[run.Job]
		if some && run.Start.Before(before.End) && !run.Start.Equal(before.Start) && !c.bootedBetween(before.Start, run.End) {
			c.broken("I1", run.Job, run.Start, fmt.Sprintf("a run began %s before the one before it ended", before.End.Sub(run.Start)),
				before.Line, run.Line, c.ours[run.Job].Line)
		}
		last[run.Job] = run
	}
}

// claim is a job that was given a token in Slurm.
type claim struct {
	job int64
	r   Record
}

// oneToken: I1. sluiced starts no second job with the same token.
func (c *check) oneToken() {
	owner := map[string]claim{}
	ended := c.finals()
	for _, r := range c.Controller {
		token := r.Change.Token
		if r.Kind != Changed || token == "" || c.uid >= 0 && r.UID != c.uid {
			continue
		}
		before, taken := owner[token]
		if taken && before.job != r.Job && !c.unclear[before.job] && (ended[before.job].Number == 0 || ended[before.job].End.After(r.At)) {
			c.broken("I1", r.Job, r.At, fmt.Sprintf("carries the token of job %d, which has not ended", before.job),
				before.r.Line, r.Line, c.ours[r.Job].Line)
		}
		owner[token] = claim{r.Job, r}
	}
}

// finals returns the last final line of each job in the completion log.
func (c *check) finals() map[int64]Completion {
	last := map[int64]Completion{}
	for _, run := range c.Completions {
		if delete(last, run.Job); run.Final() {
			last[run.Job] = run
		}
	}
	return last
}

// written is an incarnation that a move completed.
type written struct {
	n     int
	write Event
	end   Event
}

// oneIncarnation: I1. An incarnation that ran is never given again, unless slurmctld itself
// restored an older state meanwhile.
func (c *check) oneIncarnation() {
	highest, writes := map[int64]written{}, map[int64]written{}
	for _, e := range c.Events {
		switch e.Kind {
		case "open":
			m, ok := moveOf(e)
			delete(writes, e.Job)
			if h := highest[e.Job]; ok && h.n > 0 && m.incarnation <= h.n && !c.bootedBetween(h.write.At, e.At) {
				c.broken("I1", e.Job, e.At, fmt.Sprintf("incarnation %d is given again", m.incarnation), h.end.Line, e.Line, c.changeOf(e.Job, h).Line).Kind = GivenAgain
			}
		case "act":
			if act(e.Act) == actWrite {
				writes[e.Job] = written{n: e.Incarnation, write: e}
			}
		case "close":
			if w := writes[e.Job]; w.n > highest[e.Job].n && e.arrived() {
				w.end = e
				highest[e.Job] = w
			}
		}
	}
}

// changeOf is Slurm's record of the write.
func (c *check) changeOf(job int64, w written) Record {
	for _, r := range c.Controller {
		if r.Kind == Changed && r.Job == job && r.Change.Incarnation == w.n && !r.At.Before(w.write.At) {
			return r
		}
	}
	return Record{}
}

// sorted returns the keys of a map by job.
func sorted[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }
