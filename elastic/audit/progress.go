package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// progress is what is known of a job's checkpoints.
type progress struct {
	good     map[int]Event // by number: verified, or begun from, and never found bad since
	verified Event         // for the open move; none when Number is 0
	newest   int           // last verified
	step     int           // of the open move
	token    string        // "" = not known
	over     bool          // sluiced has said that it ended
	stranded bool          // sluiced has just said that nothing of its run is left to save
}

// noLostProgress: I3, verified checkpoints ascend, sluiced stops no job without
// one of the same move, and a run begins from the newest one that is good.
func (c *check) noLostProgress() {
	jobs := map[int64]*progress{}
	for _, e := range c.Events {
		if e.Kind == "emptied" { // what was verified since the copy is not known to it
			for _, p := range jobs {
				p.newest = 0
			}
		}
		if e.Job == 0 {
			continue
		}
		p := jobs[e.Job]
		if p == nil {
			p = &progress{good: map[int]Event{}}
			jobs[e.Job] = p
		}
		c.progress(p, e)
	}
}

func (c *check) progress(p *progress, e Event) {
	defer func() { p.stranded = e.Kind == "stranded" }()
	switch e.Kind {
	case "adopted":
		over := p.over
		p.over = false
		if e.Token != "" {
			// slurmctld forgot a job and gave its number again
			if p.token != "" && p.token != e.Token || p.token == "" && over {
				*p = progress{good: map[int]Event{}}
			}
			p.token = e.Token
		}
	case "open", "taken":
		m, _ := moveOf(e)
		p.step, p.verified = m.step, Event{}
		if m.checkpoint != "" {
			c.verified(p, e, m.checkpoint)
		}
	case "step":
		c.stepped(p, e)
	case "act":
		// From R6 on the run that may have failed is a new one: nothing was done in it.
		if act(e.Act) == actRequeue && p.verified.Number == 0 && p.step < 6 && !p.stranded {
			c.broken("I3", e.Job, e.At, "sluiced stops it, and no checkpoint was verified for this move", e.Line, c.stopOf(e).Line)
		}
	case "close", "ended":
		p.step, p.verified, p.over = 0, Event{}, p.over || e.Kind == "ended" // the end of its move is told after its own
	case "run":
		c.report.Tally.Starts++
		c.began(p, e)
	}
}

// stepped takes a step of a move; one of them names the checkpoint.
func (c *check) stepped(p *progress, e Event) {
	p.step = e.Step
	if e.Checkpoint != "" {
		c.report.Tally.Checkpoints++
		c.verified(p, e, e.Checkpoint)
	}
}

func (c *check) verified(p *progress, e Event, name string) {
	p.verified = e
	n, err := strconv.Atoi(name)
	if err != nil {
		return
	}
	if n < p.newest {
		c.broken("I3", e.Job, e.At, fmt.Sprintf("checkpoint %s was verified after a newer one, %08d", name, p.newest), p.good[p.newest].Line, e.Line)
	}
	p.newest = max(p.newest, n)
	p.good[n] = e
}

// began holds the start of a run against what was good then.
func (c *check) began(p *progress, e Event) {
	b, ok := beganOf(e)
	if !ok {
		return
	}
	for _, name := range b.passed {
		delete(p.good, number(name))
	}
	from := number(cmp.Or(b.checkpoint, "0"))
	for _, n := range slices.Backward(sortedInts(p.good)) {
		// What was verified later is of this run, told of again by a new life.
		if n > from && p.good[n].At.Before(b.at) {
			c.broken("I3", e.Job, e.At, fmt.Sprintf("run %d began from %s although %08d was verified", b.restarts, cmp.Or(b.checkpoint, "nothing"), n),
				p.good[n].Line, e.Line, c.runOf(e).Line)
			break
		}
	}
	if p.newest > from && len(b.passed) > 0 {
		p.newest = from // the series goes on from here
	}
	if _, known := p.good[from]; from > 0 && !known {
		p.good[from] = e
	}
}

// stopOf is Slurm's record of the stop that an act announces.
func (c *check) stopOf(e Event) Record {
	for _, r := range c.Controller {
		if r.Job == e.Job && r.Kind == Requeued && !r.At.Before(e.At.Add(-e.Grain)) {
			return r
		}
	}
	return Record{}
}

// runOf is Slurm's record of the run that began last.
func (c *check) runOf(e Event) (run Record) {
	for _, r := range c.Controller[:c.upTo(e.At)] {
		if r.Job == e.Job && r.Kind == Allocated {
			run = r
		}
	}
	return run
}

func sortedInts(m map[int]Event) []int {
	out := make([]int, 0, len(m))
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
