package forecast

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// spacing is by what part of the time since the beginning two decisions lie apart at least: what is
// far ahead is not known to the minute, and a projection of weeks takes a few hundred decisions.
const spacing = 32

// next returns when the next decision is made: when something happens that can change it, at least
// every after now. something is false if nothing will: no job trains towards an end, and nothing
// that waits has a time.
//
// moved: the last decision made moves. Then there is another one after every even if nothing ends:
// the next moves may have waited for these.
func (p *projector) next(every time.Duration, moved bool) (at time.Time, something bool) {
	now := p.snap.Now
	every = max(every, now.Sub(p.began)/spacing)
	consider := func(t time.Time) {
		if t.After(now) && (!something || t.Before(at)) {
			at, something = t, true
		}
	}
	for i := range p.snap.Jobs {
		j, c := &p.snap.Jobs[i], p.live[i]
		if c.ended {
			continue
		}
		if end, _, ok := p.end(i); ok {
			consider(end)
		}
		consider(c.busy)
		if j.Phase == elastic.Running {
			consider(p.snap.RestsUntil(j))
		}
		if j.Phase == elastic.Waiting {
			consider(j.Rest)
			consider(j.Blocked.Until)
		}
	}
	for _, t := range p.snap.Tenants {
		consider(t.Ends)
	}
	if soon := now.Add(every); (something || moved) && (!something || at.Before(soon)) {
		return soon, true
	}
	return at, something
}

// end returns when a running job ends at its present size, and whether that is by its time limit; false
// if it is not known to end.
// The earlier of its work and its time limit counts. A job that starts again after its limit
// (Spec.Again) is not ended by it. Work that is not counted, past its total, or of unknown speed ends
// no job.
func (p *projector) end(i int) (at time.Time, limit, known bool) {
	j, c := &p.snap.Jobs[i], p.live[i]
	if j.Phase != elastic.Running || len(j.Place) == 0 {
		return time.Time{}, false, false
	}
	left, counted := j.Remaining()
	seconds, _, timed := p.pace(j)
	if counted && timed && !j.Overruns() {
		begin := p.snap.Now
		if c.busy.After(begin) {
			begin = c.busy
		}
		at, known = elastic.Ahead(begin, left*seconds), true
	}
	if leaves, lane := p.leaves(i); lane {
		at, known = leaves, true
	}
	if j.TimeLeft > 0 && !j.Spec.Again {
		if by := p.snap.Now.Add(j.TimeLeft); !known || by.Before(at) {
			return by, true, true
		}
	}
	return at, false, known
}

// pass lets the time go on until then: jobs train, and end, and tenants end.
// Work is booked BEFORE the job ends, at the speed of the place it had. The clock of the snapshot
// moves AFTER all jobs did, since each end is computed from it.
func (p *projector) pass(until time.Time) {
	now := p.snap.Now
	ends := make([]ending, len(p.snap.Jobs))
	for i := range ends { // BEFORE any lane works or leaves: the others' ends depend on it
		ends[i].at, ends[i].limit, ends[i].known = p.end(i)
	}
	for i := range p.snap.Jobs {
		j, c := &p.snap.Jobs[i], p.live[i]
		if c.ended || j.Phase != elastic.Running || len(j.Place) == 0 {
			continue
		}
		end, limit, known := ends[i].at, ends[i].limit, ends[i].known
		stop := until
		if known && !end.After(until) {
			stop = end
		}
		p.train(i, now, stop)
		if known && !end.After(until) {
			c.finishAt(end, limit, end.Sub(p.began), false)
			nodes.Credit(p.snap.Nodes, j.Load(j.Place))
			j.Place, j.Phase = nil, elastic.Ended
			p.living--
		}
	}
	p.free(until)
	p.snap.Now = until
	p.unblock()
	p.tell()
	p.bury()
	p.rank()
}

// ending is what end returns.
type ending struct {
	at           time.Time
	limit, known bool
}

// train books what a job does from now to then.
// GPU-seconds count also while it is between two sizes, work does not.
func (p *projector) train(i int, now, then time.Time) {
	j, c := &p.snap.Jobs[i], p.live[i]
	j.Attained += then.Sub(now).Seconds() * float64(j.GPUs())
	if j.TimeLeft > 0 {
		if j.TimeLeft -= then.Sub(now); j.TimeLeft <= 0 {
			j.TimeLeft = time.Second
			if j.Spec.Again { // it saves before, and goes on with a new limit
				j.TimeLeft = j.TimeLimit
			}
		}
	}
	if c.busy.After(now) {
		now = c.busy
	}
	seconds := then.Sub(now).Seconds()
	if seconds > 0 {
		p.search(i, seconds)
	}
	pace, sure, known := p.pace(j)
	if seconds <= 0 || !known {
		return
	}
	c.trained += seconds
	c.trust += seconds * sure
	j.Done += seconds / pace
}

// free takes ordinary jobs off their nodes whose time limit has come.
// One without a time limit stays to the end of the projection.
func (p *projector) free(until time.Time) {
	kept := p.snap.Tenants[:0]
	for _, t := range p.snap.Tenants {
		if t.Ends.IsZero() || t.Ends.After(until) {
			kept = append(kept, t)
			continue
		}
		nodes.Credit(p.snap.Nodes, nodes.Load{Place: t.Place, Type: t.Type})
	}
	p.snap.Tenants = kept
}

// unblock lets jobs start whose block ends by itself.
// Blocks without such an end stay.
func (p *projector) unblock() {
	for i := range p.snap.Jobs {
		j := &p.snap.Jobs[i]
		if until := j.Blocked.Until; !until.IsZero() && !until.After(p.snap.Now) {
			j.Blocked = elastic.Blocked{}
		}
	}
}

// bury takes the jobs that ended out of the snapshot, keeping the others' order.
// live and Snapshot.Jobs MUST stay parallel.
func (p *projector) bury() {
	kept := 0
	for i := range p.live {
		if p.live[i].ended {
			continue
		}
		p.live[kept], p.snap.Jobs[kept] = p.live[i], p.snap.Jobs[i]
		kept++
	}
	p.live, p.snap.Jobs = p.live[:kept], p.snap.Jobs[:kept]
}
