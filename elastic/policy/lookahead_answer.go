package policy

import (
	"fmt"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/joint"
	"github.com/sluice-hpc/sluice/elastic/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// answer turns a plan into an Allocation with each job's reason. What cannot be
// carried out, because jobs would wait for each other in a circle, stays as it is.
func (o *outlook) answer(plan joint.Plan) elastic.Allocation {
	a := make(elastic.Allocation, len(o.jobs))
	few := o.snap
	few.Jobs = nil
	for k, i := range o.posed {
		p := &o.jobs[i]
		place := o.placement(plan.Places[k])
		a[p.ID] = elastic.Decision{GPUs: place.GPUs(), Place: place}
		if !place.Equal(p.Place) {
			few.Jobs = append(few.Jobs, o.snap.Jobs[i])
		}
	}
	for i := range o.jobs {
		if _, moving := o.moving[o.jobs[i].ID]; moving {
			few.Jobs = append(few.Jobs, o.snap.Jobs[i])
		}
	}
	where := elastic.Arrange(few, a)
	for _, j := range few.Jobs {
		if _, decided := a[j.ID]; decided && !where.Park[j.ID] {
			a[j.ID] = elastic.Decision{GPUs: where.Target[j.ID].GPUs(), Place: where.Target[j.ID]}
		}
	}
	o.explain(a, plan)
	return a
}

// placement names the nodes of a place. The order of shares is kept where the
// cluster gives any split, and is that of the inventory where it does not.
func (o *outlook) placement(place []joint.Share) nodes.Placement {
	ordered := place
	if !o.snap.Limits.AnySplit && !slices.IsSortedFunc(place, byNode) {
		ordered = slices.Clone(place)
		slices.SortFunc(ordered, byNode)
	}
	out := make(nodes.Placement, len(ordered))
	for i, s := range ordered {
		out[i] = nodes.Share{Node: o.snap.Nodes[s.Node].Name, GPUs: s.GPUs}
	}
	return out
}

func byNode(a, b joint.Share) int { return a.Node - b.Node }

// explain says of every job why it gets what it gets.
func (o *outlook) explain(a elastic.Allocation, plan joint.Plan) {
	w := o.words(a, plan)
	for i := range o.jobs {
		p := &o.jobs[i]
		d, ok := a[p.ID]
		if !ok {
			d = elastic.Decision{GPUs: p.now, Place: p.at}
		}
		d.Why = w.why(p, d)
		if p.role == waiting && d.GPUs == 0 {
			d.Reserves, d.Behind = w.inLine(p)
		}
		a[p.ID] = w.dated(p, d)
	}
}

// foresight is what the reasons need to know about the whole decision.
type foresight struct {
	*outlook
	starts []elastic.JobID // who starts now
	room   []elastic.JobID // ordinary jobs that room is kept for
}

func (o *outlook) words(a elastic.Allocation, plan joint.Plan) foresight {
	w := foresight{outlook: o}
	for _, i := range o.posed {
		if p := &o.jobs[i]; p.now == 0 && a[p.ID].GPUs > 0 {
			w.starts = append(w.starts, p.ID)
		}
	}
	for k := len(o.posed); k < len(plan.Places); k++ {
		if plan.Places[k] != nil {
			w.room = append(w.room, o.snap.Demands[k-len(o.posed)].ID)
		}
	}
	return w
}

func (w foresight) why(p *prospect, d elastic.Decision) string {
	switch {
	case p.role == fixed:
		return p.still
	case p.now == 0 && d.GPUs == 0:
		return w.waits(p)
	case p.now == 0:
		return w.begins(p, d)
	case d.GPUs == 0:
		return "stops after a checkpoint and waits: " + w.creed.sooner
	case p.pin > 0 && d.GPUs == p.pin && p.now == p.pin:
		return fmt.Sprintf("keeps %s: pinned to it", gpus(p.now))
	case p.pin > 0 && d.GPUs == p.pin:
		return fmt.Sprintf("%s: its user pinned it to %d", change(p.now, d.GPUs), p.pin)
	case p.pin > 0:
		return fmt.Sprintf("keeps %s: pinned to %d, which cannot be had now", gpus(d.GPUs), p.pin)
	case d.GPUs < p.now && len(w.starts)+len(w.room) == 0 && w.restAt(p, d)+p.price < p.stay:
		return fmt.Sprintf("%s: it is faster on fewer; %s", change(p.now, d.GPUs), w.takes(p, d))
	case d.GPUs < p.now:
		return fmt.Sprintf("%s: %s; %s", change(p.now, d.GPUs), w.served(), w.takes(p, d))
	case d.GPUs > p.now:
		return fmt.Sprintf("%s: %s", change(p.now, d.GPUs), w.takes(p, d))
	case !d.Place.Equal(p.at) && len(d.Place) > 0:
		return fmt.Sprintf("moves from %s to %s: %s", p.at, d.Place, w.shifts(p, d))
	}
	return w.keeps(p)
}

func (w foresight) waits(p *prospect) string {
	want := p.least()
	switch dated := w.waitsForDate(p); {
	case len(p.choices) == 0:
		return impossible(&w.snap, &p.Job, want)
	case dated != "":
		return dated
	case w.stop:
		return fmt.Sprintf("waits for %s: %s", gpus(want), w.creed.sooner)
	case p.behind != nil:
		return fmt.Sprintf("waits behind job %d, which came first and needs %s", p.behind.ID, gpus(p.behind.least()))
	}
	return w.obstacle(p).String()
}

// inLine is the job's part in the order in which jobs start. What is promised to jobs with
// deadlines is no gap to fill.
func (w foresight) inLine(p *prospect) (reserves bool, behind elastic.JobID) {
	if w.stop || p.terms.held || p.terms.later || len(p.choices) == 0 {
		return false, 0
	}
	if p.behind == nil {
		return true, 0
	}
	if p.behind.terms.held {
		return false, 0
	}
	return false, p.behind.ID
}

func (w foresight) begins(p *prospect, d elastic.Decision) string {
	switch least := p.least(); {
	case p.pin > 0:
		return fmt.Sprintf("starts on %s: pinned to it", gpus(d.GPUs))
	case d.GPUs > least:
		return fmt.Sprintf("starts on %s, %d above its minimum: takes %s instead of %s", gpus(d.GPUs), d.GPUs-least,
			p.time(w.restAt(p, d)), p.time(p.choices[0].best))
	}
	text := fmt.Sprintf("starts on its minimum of %s", gpus(d.GPUs))
	if p.Unproven {
		text += ": " + unproven
	}
	return text
}

// served names whom GPUs that are given back serve.
func (w foresight) served() string {
	switch {
	case len(w.starts) == 1:
		return fmt.Sprintf("job %d starts", w.starts[0])
	case len(w.starts) > 1:
		return fmt.Sprintf("job %d and %d more start", w.starts[0], len(w.starts)-1)
	case len(w.room) > 0:
		return fmt.Sprintf("ordinary job %d waits for room", w.room[0])
	}
	return w.creed.better
}

// takes compares how long the rest takes, the move included, with staying.
func (w foresight) takes(p *prospect, d elastic.Decision) string {
	text := fmt.Sprintf("its rest takes %s instead of %s", p.time(w.restAt(p, d)+p.price), p.time(p.stay))
	if w.untried(p, d) {
		return text + ", as is assumed: it was never seen on " + w.kindOf(p, d.Place)
	}
	return text
}

// untried reports whether the decision is for a type of GPU that the job was never seen on.
func (w foresight) untried(p *prospect, d elastic.Decision) bool {
	kind := w.kindOf(p, d.Place)
	return w.creed.kinds && kind != "" && p.Curve.Observed(kind) == 0
}

// shifts says what a job that keeps its size moves for: itself or others.
func (w foresight) shifts(p *prospect, d elastic.Decision) string {
	switch {
	case w.restAt(p, d)+p.price < p.stay:
		return w.takes(p, d)
	case len(w.starts)+len(w.room) > 0:
		return w.served()
	case w.untried(p, d):
		return "it was never seen on " + w.kindOf(p, d.Place) + ", and may be faster there"
	}
	return "others end sooner by more where it was"
}

// restAt is how long the rest takes at the decision's place, without the hope that
// sizes nobody tried are decided with.
func (w foresight) restAt(p *prospect, d elastic.Decision) float64 {
	return expected(w.curve(p, d.Place), d.Place.Split()) * p.work
}

// expected is how many seconds a unit of work takes on a split, without hope.
func expected(c *speed.Curve, split []int) float64 {
	if c.Exact() {
		seconds, _ := c.Split(split)
		return seconds
	}
	gpus := 0
	for _, n := range split {
		gpus += n
	}
	seconds, _ := c.Seconds(speed.Shape{GPUs: gpus, Nodes: len(split)})
	return seconds
}

func (w foresight) keeps(p *prospect) string {
	head := "keeps " + gpus(p.now) + ": "
	switch {
	case p.finished():
		return head + "it has done all its work"
	case p.behind != nil:
		return head + fmt.Sprintf("job %d waits for %s and comes first", p.behind.ID, gpus(p.behind.least()))
	case w.snap.Resting(&p.Job):
		return head + restWords(w.snap, &p.Job)
	case p.Spec.Max > 0 && p.now >= p.Spec.Max:
		return head + "that is its maximum"
	}
	return head + fmt.Sprintf("%s; its rest takes %s", w.creed.idle, p.time(p.stay))
}
