package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// progress is what is known about a job's checkpoints.
type progress struct {
	good     map[int]Event // by number: verified, or a run began from it, and never found bad since
	verified Event         // of the open move; none if Number is 0
	newest   int           // last verified
	step     int           // last step of the open move
	token    string        // "" = not known
	over     bool          // sluiced logged its end
	known    bool          // the store in place has it
	stranded bool          // sluiced has just logged that its run has nothing left to save
}

// noLostProgress: I3. Verified checkpoints ascend, sluiced stops no job without one of the same
// move, and a run begins from the newest valid one.
func (c *check) noLostProgress() {
	jobs := map[int64]*progress{}
	for _, e := range c.Events {
		if e.Kind == "emptied" { // the restored copy does not know what was verified later
			for _, p := range jobs {
				p.newest, p.known = 0, false
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
	defer func() { p.stranded, p.known = e.Kind == "stranded", p.known || e.Kind != "problem" }()
	switch e.Kind {
	case "adopted":
		over := p.over
		p.over = false
		if e.Token != "" {
			// slurmctld forgot a job and reused its number
			if p.token != "" && p.token != e.Token || p.token == "" && (over || p.known) {
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
		// From R6 on a failed run is the new one: it has no progress to lose.
		if act(e.Act) == actRequeue && p.verified.Number == 0 && p.step < 6 && !p.stranded {
			c.broken("I3", e.Job, e.At, "sluiced stops it, and no checkpoint was verified for this move", e.Line, c.stopOf(e).Line)
		}
	case "close", "ended":
		p.step, p.verified, p.over = 0, Event{}, p.over || e.Kind == "ended" // the end of a move is logged after the end of its job
	case "run":
		c.report.Tally.Starts++
		c.began(p, e)
	}
}

// stepped handles a step of a move; one of the steps names the checkpoint.
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

// began checks the start of a run against the checkpoints that were valid then.
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
		// A checkpoint verified later is of this run, logged again by a new life.
		if n > from && p.good[n].At.Before(b.at) {
			c.broken("I3", e.Job, e.At, fmt.Sprintf("run %d began from %s although %08d was verified", b.restarts, cmp.Or(b.checkpoint, "nothing"), n),
				p.good[n].Line, e.Line, c.runOf(e).Line)
			break
		}
	}
	if p.newest > from && len(b.passed) > 0 {
		p.newest = from // numbering continues from here
	}
	if _, known := p.good[from]; from > 0 && !known {
		p.good[from] = e
	}
}

// stopOf returns Slurm's record of the stop that an action announces.
func (c *check) stopOf(e Event) Record {
	for _, r := range c.Controller {
		if r.Job == e.Job && r.Kind == Requeued && !r.At.Before(e.At.Add(-e.Grain)) {
			return r
		}
	}
	return Record{}
}

// runOf returns Slurm's record of the run that began last.
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
