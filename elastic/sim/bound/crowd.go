package bound

import (
	"cmp"
	"slices"
	"time"
)

// crowd plays the workload with the shares that are best for known sizes and a
// speed that grows with the root of the GPUs (heSRPT: Berg, Vesilo and
// Harchol-Balter, 2020) and returns how many jobs there are in each slot until the
// last has ended: the axis prices are put on, and their first shape. ok is false
// when that takes more than so many slots.
func (c *cluster) crowd(slot float64, most int) (count []float64, ok bool) {
	order := slices.Clone(c.tasks)
	slices.SortStableFunc(order, func(a, b *task) int { return cmp.Compare(a.first, b.first) })
	var live []present
	for len(order) > 0 || len(live) > 0 {
		if len(count) == most {
			return count, false
		}
		end := float64(len(count)+1) * slot
		for len(order) > 0 && order[0].first < end {
			live = append(live, present{order[0].menu, order[0].work})
			order = order[1:]
		}
		count = append(count, float64(len(live)))
		live = c.share(live, slot)
	}
	return count, true
}

// present is a job in the crowd.
type present struct {
	menu menu
	left float64 // units
}

// share lets the jobs work for a slot and returns those that are left, the one
// with least to do last.
func (c *cluster) share(live []present, slot float64) []present {
	slices.SortStableFunc(live, func(a, b present) int {
		return cmp.Compare(b.left/b.menu.best().speed, a.left/a.menu.best().speed)
	})
	all := float64(len(live))
	kept := live[:0]
	for i, p := range live {
		p.left -= p.menu.within(float64(c.gpus)*float64(2*i+1)/(all*all)) * slot
		if p.left > 0 {
			kept = append(kept, p)
		}
	}
	return kept
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
