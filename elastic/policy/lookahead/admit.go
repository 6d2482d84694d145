package lookahead

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"slices"
	"time"
)

// mayStop reports whether started jobs may be stopped below their minimum now. While ordinary
// jobs wait none is: they would take the GPUs. Otherwise it depends on Limits.Overload: none may
// be stopped while the minimums of all jobs that can be decided about add up to at most that share
// of the GPUs.
func (o *round) mayStop() bool {
	l := o.snap.Limits
	if !l.Preempt || len(o.snap.Demands) > 0 {
		return false
	}
	least := 0
	for i := range o.jobs {
		if p := &o.jobs[i]; p.Role != roles.Fixed && len(p.choices) > 0 {
			least += p.choices[0].gpus
		}
	}
	return float64(least) > l.Overload*float64(o.gpus)
}

// admit decides which jobs must have GPUs, and which of the waiting jobs may have some.
//
// Room is taken in the ORDER of the guarantees: the minimums that started jobs keep and what their
// admissions need, then admitted jobs that wait, then the others in order of arrival. It may be
// called again with a lower o.starts; must and admit are then set anew.
func (o *round) admit() {
	room := o.room()
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Role != roles.Movable || len(p.choices) == 0 {
			continue
		}
		if p.must = !o.stop || o.justServed(p) || p.plan.least > 0; p.must {
			room.charge(o.classesOf(p), p.choices[0].gpus)
			room.charge(p.group.classes, max(0, p.plan.least-p.choices[0].gpus))
		}
	}
	starts := o.admitPromised(room)
	if o.stop {
		o.admitAll(room, starts)
	} else {
		o.admitInTurn(room, starts)
	}
}

// admitInTurn starts the waiting jobs at their minimum in order of arrival. A job that finds no
// GPUs stops every later job that could use the same nodes; so does one that is stopped. Room is
// counted by class of node here, so that admitted jobs may still not fit: see admitFewer.
//
// room is what is left and starts how many jobs were started by admitPromised. behind is the first
// job that waits for nodes that this one could use; the reasons and the backfill depend on it.
func (o *round) admitInTurn(room room, starts int) {
	var shut []*job // one per group
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Role != roles.Waiting || len(p.choices) == 0 || p.admit || p.plan.later {
			continue
		}
		p.behind = meeting(shut, p)
		p.admit = p.behind == nil && !p.plan.held && starts < o.starts && room.charge(p.group.classes, p.Least())
		if p.must = p.admit; p.admit {
			starts++
		} else if !slices.ContainsFunc(shut, func(h *job) bool { return h.group == p.group }) {
			shut = append(shut, p)
		}
	}
	o.shut(slices.DeleteFunc(shut, func(p *job) bool { return p.plan.held })) // idle GPUs are kept for those elsewhere
}

// shut keeps running jobs from growing on nodes where another job waits to start: idle GPUs are
// kept for that job. What a job needs to meet its deadline it may have. It removes choices for
// good: a later call, with fewer starts, does not bring them back.
func (o *round) shut(heads []*job) {
	if len(heads) == 0 {
		return
	}
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Role != roles.Movable || meeting(heads, p) == nil {
			continue
		}
		p.behind = meeting(heads, p)
		most := max(p.Now, p.plan.least) // an admission comes before jobs that wait
		p.choices = slices.DeleteFunc(p.choices, func(c choice) bool { return c.gpus > most && p.Now != 0 })
		if len(p.choices) == 0 {
			o.fix(p, p.behind.comesFirst())
		}
	}
}

// meeting returns the first of the jobs that has usable nodes in common with p. It is nil if none
// has.
func meeting(heads []*job, p *job) *job {
	for _, h := range heads {
		if h.group.meets(p.group) {
			return h
		}
	}
	return nil
}

// admitAll lets all jobs compete. Those that have waited as long as a job may wait get their
// minimum, as far as there are GPUs, in order of arrival. All others may get GPUs if that is worth
// more, and may be left without.
func (o *round) admitAll(room room, starts int) {
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Role != roles.Waiting || len(p.choices) == 0 || p.admit || p.plan.later {
			continue
		}
		p.admit = true
		if p.must = o.waitedEnough(p) && starts < o.starts && room.charge(p.group.classes, p.Least()); p.must {
			starts++
		}
	}
}

// admitFewer handles a cluster without room for all jobs that were to start: the later half
// waits on. It returns false if no job is left to postpone. With 5 such jobs 2 may start, then 1,
// then none: a few repetitions, not one per job. The limit counts admitted jobs first, then order
// of arrival.
func (o *round) admitFewer() bool {
	starts := 0
	for i := range o.jobs {
		if p := &o.jobs[i]; p.Role == roles.Waiting && p.must {
			starts++
		}
	}
	if starts == 0 {
		return false
	}
	o.starts = starts / 2
	o.admit()
	return true
}

// waitedEnough reports whether a job has been without GPUs for as long as it may be. The time
// counts from its submission or, for a job that was stopped, from then on. Without a bound
// (Limits.Wait is 0) no job has waited enough.
func (o *round) waitedEnough(p *job) bool {
	since := p.Submitted
	if p.Moved.After(since) {
		since = p.Moved
	}
	return o.snap.Limits.Wait > 0 && o.snap.Now.Sub(since) >= o.snap.Limits.Wait
}

// justServed reports whether a job was started so recently that it keeps its minimum: for a
// quarter of the time that a job may have to wait. Without a bound on waiting (Limits.Wait is 0)
// no job was.
func (o *round) justServed(p *job) bool {
	return o.snap.Limits.Wait > 0 && o.snap.Now.Sub(p.Started) < o.snap.Limits.Wait/4 && p.Started != (time.Time{})
}

// room is the number of free GPUs by class of node. It ignores fragmentation: charge succeeds if the
// classes together have enough GPUs, whatever their nodes. It is an upper bound, and cheap. An
// answer of true is therefore no promise of a place; the solver has the last word.
type room []int

// room returns what is free on the floor, where only ordinary and Fixed jobs count. The caller
// charges what started jobs keep.
func (o *round) room() room {
	r := make(room, len(o.sorts))
	for i, n := range o.floor {
		r[o.class[i]] += n.Free()
	}
	return r
}

// charge takes n GPUs from the classes, if together they have them. If they have fewer it takes
// none and returns false. Classes are emptied in the order given.
func (r room) charge(classes []int, n int) bool {
	have := 0
	for _, c := range classes {
		have += r[c]
	}
	if have < n {
		return false
	}
	for _, c := range classes {
		k := min(n, r[c])
		r[c] -= k
		n -= k
	}
	return true
}

// meets reports whether two groups have a class of nodes in common.
func (g *group) meets(h *group) bool {
	return haveCommon(g.classes, h.classes)
}

// classesOf lists the classes of the nodes that a running job is on.
func (o *round) classesOf(p *job) []int {
	var out []int
	for _, s := range p.At {
		if c := o.class[o.at[s.Node]]; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
