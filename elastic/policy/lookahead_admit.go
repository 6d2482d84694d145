package policy

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/joint"
)

// mayStop reports whether started jobs may be stopped below their minimum now.
func (o *outlook) mayStop() bool {
	l := o.snap.Limits
	if !l.Preempt {
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

// admit decides who must have GPUs, and who of those that wait may have some. A
// job that cannot be started stops everybody behind it who could use the same
// nodes.
func (o *outlook) admit() {
	stop := o.mayStop()
	room := o.room()
	for i := range o.jobs {
		if p := &o.jobs[i]; p.role == movable {
			p.must = !stop || o.waited(p)
			if p.must && len(p.choices) > 0 {
				room.charge(o.classesOf(p), p.choices[0].gpus)
			}
		}
	}
	var shut []*group
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.role != waiting {
			continue
		}
		p.rank = i
		if len(p.choices) == 0 {
			continue
		}
		if stop {
			p.admit = true
			p.must = o.waited(p) && room.charge(p.group.classes(), p.choices[0].gpus)
			continue
		}
		if slices.ContainsFunc(shut, p.group.meets) {
			continue
		}
		if !room.charge(p.group.classes(), p.choices[0].gpus) {
			shut = append(shut, p.group)
			continue
		}
		p.admit, p.must = true, true
	}
}

// waited reports whether the job has been without GPUs as long as it may be. One
// that got them back keeps them for as long.
func (o *outlook) waited(p *prospect) bool {
	bound := o.snap.Limits.Wait
	if bound <= 0 {
		return false
	}
	since := p.Submitted
	if p.Moved.After(since) {
		since = p.Moved
	}
	if p.role == movable {
		return o.snap.Now.Sub(since) < bound/keepsShare && p.Attained > 0 && p.Restarted(o.snap.Now, bound)
	}
	return o.snap.Now.Sub(since) >= bound
}

// keepsShare: a job that was started because it had waited as long as it may is
// left alone for this part of that time.
const keepsShare = 4

// Restarted is for waited: whether the job's present run is young.
func (p *prospect) Restarted(now time.Time, bound time.Duration) bool {
	return !p.Started.IsZero() && now.Sub(p.Started) < bound/keepsShare
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
		k := min(n, max(0, r[c]))
		r[c] -= k
		n -= k
	}
	return true
}

// classes lists every class a group may use.
func (g *group) classes() []int {
	var out []int
	for _, kind := range g.kinds {
		for _, c := range kind {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

func (g *group) meets(h *group) bool {
	classes := h.classes()
	return slices.ContainsFunc(g.classes(), func(c int) bool { return slices.Contains(classes, c) })
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

// queueUp takes back starts that would overtake: when one of those that were to
// start found no place, those behind it who could use the same nodes wait, too.
func (o *outlook) queueUp(plan *joint.Plan) {
	if o.mayStop() {
		return
	}
	var shut []*group
	for k, i := range o.posed {
		p := &o.jobs[i]
		if p.role != waiting {
			continue
		}
		if plan.Places[k] == nil {
			shut = append(shut, p.group)
		} else if slices.ContainsFunc(shut, p.group.meets) {
			plan.Places[k] = nil
		}
	}
}
