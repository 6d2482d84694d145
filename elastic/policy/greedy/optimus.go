package greedy

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Optimus starts every job at its minimum and then gives GPUs one at a time to the job whose
// remaining time they shorten most (Peng et al., Optimus, EuroSys 2018, section 4.1; for
// All-reduce jobs as in Qiao et al., Pollux, OSDI 2021, section 5.3). It favours long jobs,
// which have the most time to save.
func Optimus(s elastic.Snapshot) elastic.Allocation {
	return division{rule: greatestSaving, stops: true, because: always(reason.OptimusRule)}.allocate(s)
}

// greatestSaving is the rule of optimus. If a job's sizes are more than one GPU apart its
// saving is per GPU. A job whose next size needs more GPUs than are left is out from then on. The
// others go on.
func greatestSaving(parts []part, gpus int) {
	gpus = first(parts, gpus)
	gain := make([]float64, len(parts))
	for i := range parts {
		gain[i] = parts[i].saving(gpus)
	}
	for {
		best := -1
		for i := range gain {
			if gain[i] > 0 && (best < 0 || gain[i] > gain[best]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		p := &parts[best]
		more, _ := p.more()
		if more > gpus {
			gain[best] = 0
			continue
		}
		gpus -= more
		p.at++
		gain[best] = p.saving(gpus)
	}
}

// first starts the parts without GPUs at their smallest size, in their order, as far as the
// GPUs go, and returns the remaining GPUs.
func first(parts []part, gpus int) (left int) {
	for i := range parts {
		gpus -= parts[i].size()
	}
	for i := range parts {
		if p := &parts[i]; p.size() == 0 && len(p.sizes) > 1 && p.sizes[1] <= gpus {
			p.at = 1
			gpus -= p.size()
		}
	}
	return gpus
}

// saving returns the seconds that each GPU of the next size saves the job; 0 if it does not
// run, or has no next size within the remaining GPUs.
func (p *part) saving(gpus int) float64 {
	more, ok := p.more()
	if !ok || more > gpus || p.size() == 0 {
		return 0
	}
	now, next := p.unit(p.at), p.unit(p.at+1)
	if math.IsInf(now, 1) && math.IsInf(next, 1) {
		return 0
	}
	return (now - next) * p.Work / float64(more)
}
