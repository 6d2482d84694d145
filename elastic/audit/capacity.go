package audit

import (
	"fmt"
	"slices"
	"time"
)

// noOversubscription: I4. The GPUs of the runs on a node never exceed the node's, no GPU
// belongs to two runs, and no move asks a node for more GPUs than it has.
func (c *check) noOversubscription() {
	if c.report.Tally.Runs > 0 && !c.traced {
		c.note("slurmctld's log does not say when GPUs were freed: the GPUs of several jobs are not added up (I4); it needs DebugFlags=Gres,TraceJobs and SlurmctldDebug=debug2")
	}
	c.replay(func(r Record, held map[int64]holding) {
		if r.Kind != Allocated || !c.traced {
			return
		}
		for _, s := range r.Shares {
			c.fits(r, s, held)
		}
	})
	for _, e := range c.Events {
		m, ok := moveOf(e)
		if e.Kind != "open" || !ok {
			continue
		}
		for _, s := range m.target {
			if has, known := c.GPUs[s.Node]; s.GPUs > has || !known {
				c.broken("I4", e.Job, e.At, fmt.Sprintf("was to have %d GPUs of node %s, which has %d", s.GPUs, s.Node, has), e.Line)
			}
		}
	}
}

// fits checks one share of a new run against the shares of the other runs on its node.
func (c *check) fits(r Record, s Share, held map[int64]holding) {
	used, lines := s.GPUs, []Line{r.Line}
	shared := ""
	for _, other := range sorted(held) {
		if other == r.Job { // two runs of one job are checked by oneRun
			continue
		}
		for _, o := range held[other].shares {
			if o.Node != s.Node {
				continue
			}
			used += o.GPUs
			lines = append(lines, held[other].began.Line)
			for _, b := range o.Bits {
				if slices.Contains(s.Bits, b) {
					shared = fmt.Sprintf("GPU %d of node %s is also allocated to job %d", b, s.Node, other)
				}
			}
		}
	}
	what := shared
	if has := c.GPUs[s.Node]; used > has {
		what = fmt.Sprintf("node %s has %d GPUs and gave %d", s.Node, has, used)
	}
	if what != "" {
		c.broken("I4", r.Job, r.At, what, append(lines, c.lastEvent(r.Job, r.At).Line)...)
	}
}

// lastEvent returns the last event of a job at or before the time.
func (c *check) lastEvent(job int64, at time.Time) (last Event) {
	for _, e := range c.Events {
		if e.Job == job && !e.At.After(at) {
			last = e
		}
	}
	return last
}

// placesKnown: I4. Where sluiced says that a move ended is where Slurm runs the job.
func (c *check) placesKnown() {
	for _, e := range c.Events {
		if e.Kind != "close" || !e.arrived() {
			continue
		}
		said, err := parsePlace(e.On)
		if err != nil {
			continue
		}
		run, ok := c.runAt(e.Job, e.At.Add(e.Grain))
		if ok && !samePlace(said, run.Shares) {
			c.broken("I4", e.Job, e.At, fmt.Sprintf("sluiced says that it runs on %s, Slurm runs it on %s", e.On, placeText(run.Shares)), e.Line, run.Line)
		}
	}
}

// runAt returns the run that a job had for certain when sluiced last looked: it began well
// before, had not ended, and slurmctld was not restarted in between.
func (c *check) runAt(job int64, at time.Time) (run Record, ok bool) {
	for _, r := range c.Controller[:c.upTo(at)] {
		switch {
		case r.Kind == Booted:
			ok = false
		case r.Job != job:
		case r.Kind == Freed:
			ok = false
		case r.Kind == Allocated:
			run, ok = r, len(r.Shares) > 0
		}
	}
	return run, ok
}

func samePlace(a, b []Share) bool {
	order := func(shares []Share) []Share {
		out := slices.Clone(shares)
		slices.SortFunc(out, func(x, y Share) int { return cmpText(x.Node, y.Node) })
		return out
	}
	return slices.EqualFunc(order(a), order(b), func(x, y Share) bool { return x.Node == y.Node && x.GPUs == y.GPUs })
}

func placeText(shares []Share) string {
	text := ""
	for i, s := range shares {
		if i > 0 {
			text += "+"
		}
		text += fmt.Sprintf("%s:%d", s.Node, s.GPUs)
	}
	return text
}
