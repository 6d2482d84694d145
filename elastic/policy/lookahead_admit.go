package policy

import (
	"slices"
	"time"
)

// mayStop reports whether started jobs may be stopped below their minimum now. While
// ordinary jobs wait for room nobody is: the GPUs would be theirs.
func (o *outlook) mayStop() bool {
	l := o.snap.Limits
	if !l.Preempt || len(o.snap.Demands) > 0 {
		return false
	}
	least := 0
	for i := range o.jobs {
		if p := &o.jobs[i]; p.role != fixed && len(p.choices) > 0 {
			least += p.choices[0].gpus
		}
	}
	return float64(least) > l.Overload*float64(o.gpus)
}

// admit decides who must have GPUs, and who of those that wait may have some.
func (o *outlook) admit() {
	room := o.room()
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.role != movable || len(p.choices) == 0 {
			continue
		}
		if p.must = !o.stop || o.justServed(p) || p.terms.least > 0; p.must {
			room.charge(o.classesOf(p), p.choices[0].gpus)
			room.charge(p.group.classes, max(0, p.terms.least-p.choices[0].gpus))
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
func (o *outlook) admitInTurn(room room, starts int) {
	var shut []*prospect // one a group
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.role != waiting || len(p.choices) == 0 || p.admit || p.terms.later {
			continue
		}
		p.behind = meeting(shut, p)
		p.admit = p.behind == nil && !p.terms.held && starts < o.starts && room.charge(p.group.classes, p.least())
		if p.must = p.admit; p.admit {
			starts++
		} else if !slices.ContainsFunc(shut, func(h *prospect) bool { return h.group == p.group }) {
			shut = append(shut, p)
		}
	}
	o.shut(slices.DeleteFunc(shut, func(p *prospect) bool { return p.terms.held })) // for those GPUs gather elsewhere
}

// shut keeps jobs that run from growing where another waits to start: idle GPUs
// gather for that job. What a job needs to keep its deadline it may have.
func (o *outlook) shut(heads []*prospect) {
	if len(heads) == 0 {
		return
	}
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.role != movable || meeting(heads, p) == nil {
			continue
		}
		p.behind = meeting(heads, p)
		most := max(p.now, p.terms.least) // a promise comes before those who wait
		p.choices = slices.DeleteFunc(p.choices, func(c choice) bool { return c.gpus > most && p.now != 0 })
		if len(p.choices) == 0 {
			o.fix(p, p.behind.comesFirst())
		}
	}
}

// meeting returns the first of the jobs that could use nodes p could use.
func meeting(heads []*prospect, p *prospect) *prospect {
	for _, h := range heads {
		if h.group.meets(p.group) {
			return h
		}
	}
	return nil
}

// admitAll lets everybody compete. Those who have waited as long as anybody may
// have a minimum, as far as it goes, those first who came first.
func (o *outlook) admitAll(room room, starts int) {
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.role != waiting || len(p.choices) == 0 || p.admit || p.terms.later {
			continue
		}
		p.admit = true
		if p.must = o.waitedEnough(p) && starts < o.starts && room.charge(p.group.classes, p.least()); p.must {
			starts++
		}
	}
}

// admitFewer is for when nodes, or what is on them, have no room for all who were
// to start: the later half waits on. It is false when nobody is left to put off.
func (o *outlook) admitFewer() bool {
	starts := 0
	for i := range o.jobs {
		if p := &o.jobs[i]; p.role == waiting && p.must {
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
func (o *outlook) waitedEnough(p *prospect) bool {
	since := p.Submitted
	if p.Moved.After(since) {
		since = p.Moved
	}
	return o.snap.Limits.Wait > 0 && o.snap.Now.Sub(since) >= o.snap.Limits.Wait
}

// justServed: a job that was started is left its minimum for a quarter of the time
// it may be made to wait.
func (o *outlook) justServed(p *prospect) bool {
	return o.snap.Limits.Wait > 0 && o.snap.Now.Sub(p.Started) < o.snap.Limits.Wait/4 && p.Started != (time.Time{})
}

// room counts free GPUs by class of node.
type room []int

func (o *outlook) room() room {
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
func (o *outlook) classesOf(p *prospect) []int {
	var out []int
	for _, s := range p.at {
		if c := o.class[o.at[s.Node]]; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
