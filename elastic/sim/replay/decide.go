package replay

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// move is one job's change of place.
type move struct {
	job  int // index into live
	to   nodes.Placement
	why  string
	from nodes.Placement
}

// decide asks the policy and carries its answer out.
func (r *round) decide() error {
	r.snap.Now = begin.Add(r.now)
	r.told.refresh(r)
	r.out.Rounds++
	started := r.clock()
	a := r.cfg.Policy.Allocate(r.snap)
	var where map[elastic.JobID]nodes.Placement
	if r.cfg.Placing == Published {
		where = r.published(a)
	} else {
		where = r.arrange(a)
	}
	if r.cfg.Timer != nil {
		r.out.Decisions = append(r.out.Decisions, r.clock()-started)
	}
	r.changed = false
	if err := r.carryOut(r.moves(a, where)); err != nil {
		return err
	}
	r.measureSpread()
	return nil
}

func (r *round) clock() time.Duration {
	if r.cfg.Timer == nil {
		return 0
	}
	return r.cfg.Timer()
}

// arrange places the jobs whose size or place changes with the daemon's own
// placement; to them the others are GPUs in use, as in any decision.
func (r *round) arrange(a elastic.Allocation) map[elastic.JobID]nodes.Placement {
	few := r.snap
	few.Jobs = nil
	for _, j := range r.snap.Jobs {
		if d, ok := a[j.ID]; ok && changes(j, d) {
			few.Jobs = append(few.Jobs, j)
		}
	}
	if len(few.Jobs) == 0 {
		return nil
	}
	return elastic.Arrange(few, a).Target
}

func changes(j elastic.Job, d elastic.Decision) bool {
	return d.GPUs != j.GPUs() || (len(d.Place) > 0 && !d.Place.Equal(j.Place))
}

// moves lists the jobs that change, in the order they came.
func (r *round) moves(a elastic.Allocation, where map[elastic.JobID]nodes.Placement) []move {
	var out []move
	if len(a) == 0 {
		return nil
	}
	for i := range r.live {
		j := &r.snap.Jobs[i]
		d, named := a[j.ID]
		if !named || !changes(*j, d) {
			continue
		}
		to := where[j.ID]
		if d.GPUs == 0 {
			if !r.cfg.Limits.Preempt {
				continue // a started job keeps its minimum
			}
			to = nil
		} else if len(to) == 0 {
			continue // no place for it in this round
		}
		if !to.Equal(j.Place) {
			out = append(out, move{job: i, from: j.Place, to: to, why: d.Why})
		}
	}
	return out
}

// carryOut makes all moves at once: everybody lets go, then everybody takes.
func (r *round) carryOut(moves []move) error {
	for _, m := range moves {
		r.release(m.from)
	}
	for _, m := range moves {
		j := &r.snap.Jobs[m.job]
		if n := m.to.GPUs(); n > 0 && !j.Spec.Allows(n, r.cluster) {
			return fmt.Errorf("job %s was given %d GPUs, which it does not accept", j.Name, n)
		}
		r.hold(m.to)
		r.change(m)
	}
	for _, n := range r.snap.Nodes {
		if n.Used > n.GPUs {
			return fmt.Errorf("node %s was given %d jobs' GPUs for its %d", n.Name, n.Used, n.GPUs)
		}
	}
	return nil
}

// change books one move.
func (r *round) change(m move) {
	l, j := &r.live[m.job], &r.snap.Jobs[m.job]
	res := &r.out.Jobs[l.index]
	kind := "move"
	switch {
	case len(m.to) == 0:
		kind = "stop"
	case len(m.from) == 0:
		kind = "start"
	case m.from.GPUs() != m.to.GPUs():
		kind = "resize"
	}
	if res.Start < 0 {
		res.Start = r.now
	} else if kind != "stop" {
		res.Restarts++
	}
	j.Place, j.Phase, j.Moved = m.to, elastic.Running, r.snap.Now
	if kind == "stop" {
		j.Phase, l.split, l.pause = elastic.Held, nil, 0
	} else {
		l.split = split(m.to)
		l.pace = l.Speeds.Seconds(l.split)
		l.pause = l.price
		j.Started = r.snap.Now
	}
	r.event(l.index, kind, m.from, m.to, m.why)
}

func split(p nodes.Placement) []int {
	out := make([]int, len(p))
	for i, s := range p {
		out[i] = s.GPUs
	}
	return out
}

// measureSpread notes how scattered the free GPUs are.
func (r *round) measureSpread() {
	free, scattered := 0, 0
	for _, n := range r.snap.Nodes {
		free += n.Free()
		if n.Used > 0 {
			scattered += n.Free()
		}
	}
	if free > 0 {
		r.spread.sum += float64(scattered) / float64(free)
		r.spread.n++
	}
}
