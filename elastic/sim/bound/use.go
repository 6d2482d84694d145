package bound

import "math"

// use adds the GPUs of the schedules that end at the point: of the two paths
// around it, mixed so that together they do the task's work. It leaves their
// worths for the next reply.
func (r *replier) use(t *task, at point, used []float64) {
	little, enough := r.around(t, at)
	t.worth = t.worth[:0]
	share := 1.0 // of enough
	switch {
	case little == nil:
	case enough == nil:
		share = 0
	default:
		up, down := little.short(at.slot, at.share, t.work), -enough.short(at.slot, at.share, t.work)
		share = up / math.Max(up+down, math.SmallestNonzeroFloat64)
	}
	for _, part := range []struct {
		p     *path
		share float64
	}{{little, 1 - share}, {enough, share}} {
		if part.p == nil {
			continue
		}
		t.worth = append(t.worth, part.p.worth)
		if part.share > 0 {
			part.p.trace(t, r.m, at, part.share, used)
		}
	}
}

// trace walks the path back from the point and adds its GPUs, weighed, by slot.
func (p *path) trace(t *task, m *market, at point, weight float64, used []float64) {
	begin := t.begin(m)
	state := p.tail[at.slot]
	if at.share < 0.5 {
		state = p.head[at.slot]
	}
	for i := at.slot; i >= 0; i-- {
		gpus := t.keeps
		if state >= 0 {
			gpus = t.menu[state].gpus
		}
		if begin+i < len(used) {
			share := weight
			if i == at.slot && !m.rounds {
				share *= at.share
			}
			if i == 0 {
				share *= (float64(begin+1)*m.slot - t.first) / m.slot
			}
			used[begin+i] += share * gpus
		}
		if state < 0 || p.entered[i*len(t.menu)+int(state)] {
			state = p.from[i]
		}
		if state == none {
			return
		}
	}
}
