package lookahead

import (
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"slices"
	"time"
)

// mayStop reports whether started jobs may be stopped below their minimum now. While
// ordinary jobs wait for room nobody is: the GPUs would be theirs.
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

// admit decides who must have GPUs, and who of those that wait may have some.
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

// admitInTurn starts the jobs that wait on their minimum in the order they came. One
// that finds none stops everybody behind it who could use the same nodes; so does
// one that is stopped.
func (o *round) admitInTurn(room room, starts int) {
	var shut []*job // one a group
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
	o.shut(slices.DeleteFunc(shut, func(p *job) bool { return p.plan.held })) // for those GPUs gather elsewhere
}

// shut keeps jobs that run from growing where another waits to start: idle GPUs
// gather for that job. What a job needs to keep its deadline it may have.
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
		most := max(p.Now, p.plan.least) // a promise comes before those who wait
		p.choices = slices.DeleteFunc(p.choices, func(c choice) bool { return c.gpus > most && p.Now != 0 })
		if len(p.choices) == 0 {
			o.fix(p, p.behind.comesFirst())
		}
	}
}

// meeting returns the first of the jobs that could use nodes p could use.
func meeting(heads []*job, p *job) *job {
	for _, h := range heads {
		if h.group.meets(p.group) {
			return h
		}
	}
	return nil
}

// admitAll lets everybody compete. Those who have waited as long as anybody may
// have a minimum, as far as it goes, those first who came first.
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

// admitFewer is for when nodes, or what is on them, have no room for all who were
// to start: the later half waits on. It is false when nobody is left to put off.
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

// waitedEnough reports whether a job has been without GPUs as long as it may be.
func (o *round) waitedEnough(p *job) bool {
	since := p.Submitted
	if p.Moved.After(since) {
		since = p.Moved
	}
	return o.snap.Limits.Wait > 0 && o.snap.Now.Sub(since) >= o.snap.Limits.Wait
}

// justServed: a job that was started is left its minimum for a quarter of the time
// it may be made to wait.
func (o *round) justServed(p *job) bool {
	return o.snap.Limits.Wait > 0 && o.snap.Now.Sub(p.Started) < o.snap.Limits.Wait/4 && p.Started != (time.Time{})
}

// room counts free GPUs by class of node.
type room []int

func (o *round) room() room {
	r := make(room, len(o.sorts))
	for i, n := range o.floor {
		r[o.class[i]] += n.Free()
	}
	return r
}

// charge takes n GPUs off the classes, if they have them together.
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

// classesOf lists the classes of the nodes a running job is on.
func (o *round) classesOf(p *job) []int {
	var out []int
	for _, s := range p.At {
		if c := o.class[o.at[s.Node]]; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
