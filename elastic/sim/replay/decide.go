package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// move is one job's change of place.
type move struct {
	job  int // index into live
	to   nodes.Placement
	why  reason.Reason
	from nodes.Placement
}

// decide asks the policy and carries its answer out.
func (r *round) decide() error {
	r.snap.Now = begin.Add(r.now)
	r.told.refresh(r)
	r.tellSweeps()
	r.out.Rounds++
	started := r.clock()
	if r.part != nil {
		if err := r.part.divide(&r.snap, r.now, r.cfg.Policy.RigidIn); err != nil {
			return err
		}
	}
	a := r.allocation()
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
	for id, d := range a {
		if d.Promised {
			r.snap.Jobs[r.pos[id-1]].Promised = true
		}
	}
	if err := r.carryOut(r.moves(a, where)); err != nil {
		return err
	}
	r.measureSpread()
	return nil
}

// allocation is the daemon's decision, policy.Policy.Decide, and what Beside starts.
func (r *round) allocation() elastic.Allocation {
	if r.cfg.Beside == nil {
		return r.cfg.Policy.Decide(r.snap)
	}
	out, rest := r.cfg.Beside(r.snap)
	maps.Copy(out, r.cfg.Policy.Decide(rest))
	return out
}

func (r *round) clock() time.Duration {
	if r.cfg.Timer == nil {
		return 0
	}
	return r.cfg.Timer()
}

// arrange places the jobs whose size or place changes with the daemon's own
// placement; to them the others are GPUs in use, as in any decision. A decision
// that names a place gets it, as plan.Arrange would give it: when all do, there
// is nothing to arrange.
func (r *round) arrange(a elastic.Allocation) map[elastic.JobID]nodes.Placement {
	few := r.snap
	few.Jobs = nil
	named := true
	for _, i := range r.changing(a) {
		few.Jobs = append(few.Jobs, r.snap.Jobs[i])
		d := a[r.snap.Jobs[i].ID]
		named = named && (d.GPUs == 0 || len(d.Place) > 0)
	}
	if len(few.Jobs) == 0 {
		return nil
	}
	if !named {
		return plan.Arrange(few, a).Target
	}
	out := make(map[elastic.JobID]nodes.Placement, len(few.Jobs))
	for _, j := range few.Jobs {
		out[j.ID] = a[j.ID].Place
	}
	return out
}

// changing lists the jobs, by index into live, that the allocation changes, in the
// order they came.
func (r *round) changing(a elastic.Allocation) []int {
	out := r.few[:0]
	if len(a) > len(r.live)/4 {
		for i := range r.snap.Jobs {
			if d, named := a[r.snap.Jobs[i].ID]; named && changes(&r.snap.Jobs[i], d) {
				out = append(out, i)
			}
		}
	} else {
		for id, d := range a {
			if i := int(r.pos[id-1]); changes(&r.snap.Jobs[i], d) {
				out = append(out, i)
			}
		}
		slices.Sort(out)
	}
	r.few = out
	return out
}

func changes(j *elastic.Job, d elastic.Decision) bool {
	return j.Phase != elastic.Ended && (d.GPUs != j.GPUs() || len(d.Place) > 0 && !d.Place.Equal(j.Place))
}

// moves lists the jobs that change, in the order they came.
func (r *round) moves(a elastic.Allocation, where map[elastic.JobID]nodes.Placement) []move {
	var out []move
	for _, i := range r.changing(a) {
		j := &r.snap.Jobs[i]
		d := a[j.ID]
		to := where[j.ID]
		if d.GPUs == 0 {
			if !r.cfg.Limits.Preempt && !d.Leaves {
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

// carryOut makes all moves at once: first all jobs release their GPUs, then they take new ones.
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
		if pace := r.live[m.job].pace; len(m.to) > 0 && !(pace > 0 && pace < 1e15) {
			return fmt.Errorf("job %s was given %v, on which it cannot run; bound its sizes in the workload", j.Name, m.to)
		}
	}
	for _, m := range moves {
		for _, s := range m.to {
			if n := r.snap.Nodes[r.at[s.Node]]; n.Used > n.GPUs {
				return fmt.Errorf("node %s: jobs were given %d of its %d GPUs", n.Name, n.Used, n.GPUs)
			}
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
		j.Phase, l.split, l.pause = elastic.Waiting, nil, 0
	} else {
		l.split = m.to.Split()
		l.pace = l.Speeds.Seconds(l.split) / r.told.kinds.times(l.Job, m.to)
		l.kind, l.rate = r.told.kinds.on(m.to), r.rateOf(m.to)
		l.pause, l.upTo, l.gpus = l.price, r.now, float64(m.to.GPUs())
		if r.cfg.RestartOn != nil {
			l.pause = r.cfg.RestartOn(m.to.GPUs())
		}
		if r.cfg.Policy.OnEvents && l.lane == nil {
			r.ends.push(ending{r.now + l.pause + seconds((l.Spec.Total-j.Done)*l.pace), int32(l.index)})
		}
		j.Started = r.snap.Now
	}
	if l.lane != nil {
		r.changeLane(m, kind)
	}
	r.event(l.index, kind, m.from, m.to, m.why)
}

// measureSpread notes how scattered the free GPUs are.
func (r *round) measureSpread() {
	if r.busy < r.cluster {
		r.spread.sum += nodes.Fragmentation(r.snap.Nodes)
		r.spread.n++
	}
}
