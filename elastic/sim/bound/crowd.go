package bound

import (
	"cmp"
	"slices"
	"time"
)

// crowd plays the workload with equal shares and returns how many jobs there are
// in each slot until the last has ended: the axis prices are put on, and their
// first shape. ok is false when that takes more than so many slots.
func (c *cluster) crowd(slot float64, most int) (count []float64, ok bool) {
	order := slices.Clone(c.tasks)
	slices.SortStableFunc(order, func(a, b *task) int { return cmp.Compare(a.first, b.first) })
	var live []*task
	var left []float64
	for len(order) > 0 || len(live) > 0 {
		if len(count) == most {
			return count, false
		}
		end := float64(len(count)+1) * slot
		for len(order) > 0 && order[0].first < end {
			live, left = append(live, order[0]), append(left, order[0].work)
			order = order[1:]
		}
		count = append(count, float64(len(live)))
		share := float64(c.gpus) / max(float64(len(live)), 1)
		kept := 0
		for i, t := range live {
			if left[i] -= t.menu.within(share) * slot; left[i] > 0 {
				live[kept], left[kept] = t, left[i]
				kept++
			}
		}
		live, left = live[:kept], left[:kept]
	}
	return count, true
}

// within is the best speed with so many GPUs, or with a share in time of the
// smallest size.
func (m menu) within(gpus float64) float64 {
	if gpus < m[0].gpus {
		return m[0].speed * gpus / m[0].gpus
	}
	k := 0
	for k+1 < len(m) && m[k+1].gpus <= gpus {
		k++
	}
	return m[k].speed
}

// axis chooses the length of a slot and the slots that get a price.
func (c *cluster) axis(cfg Config) (step time.Duration, count []float64) {
	step = cfg.Interval
	most := slots
	if cfg.Slot > 0 {
		step = (cfg.Slot + cfg.Interval - 1) / cfg.Interval * cfg.Interval
		most = mostSlots
	}
	for {
		count, ok := c.crowd(step.Seconds(), most)
		if ok {
			// Later prices may matter where jobs end later than with equal shares.
			return step, append(count, make([]float64, len(count)/4+1)...)
		}
		step *= 2
	}
}
