package audit

import "slices"

// holding is a run that has its GPUs.
type holding struct {
	began  Record
	shares []Share
}

// replay walks slurmctld's log and keeps which run holds which GPUs. see is called BEFORE a
// record takes effect, with what is held then.
func (c *check) replay(see func(r Record, held map[int64]holding)) {
	held, last, before := map[int64]holding{}, map[int64]holding{}, map[int64]holding{}
	for _, r := range c.Controller {
		see(r, held)
		switch r.Kind {
		case Allocated:
			held[r.Job] = holding{began: r, shares: r.Shares}
			before[r.Job], last[r.Job] = last[r.Job], held[r.Job]
		case Freed:
			delete(held, r.Job)
		case Booted: // what runs is what the saved state lists
			held = map[int64]holding{}
		case Recovered:
			// A job that had ended, or whose start slurmctld forgot, is listed with the
			// allocation of its last run; a running one has a step.
			if h, ok := recovered(r, last[r.Job]); ok && r.Runs {
				held[r.Job] = h
			}
		case Misplaced: // slurmctld was killed before it saved that start, and ends the run on the node
			if l := last[r.Job]; slices.ContainsFunc(l.shares, func(s Share) bool { return s.Node == r.Shares[0].Node }) {
				last[r.Job] = before[r.Job]
				if _, holds := held[r.Job]; holds {
					held[r.Job] = last[r.Job]
				}
			}
		}
	}
}

// recovered returns a run as slurmctld restored it. The log names no nodes there: they are
// those of the job's last run, if the shares match.
func recovered(r Record, last holding) (holding, bool) {
	counts := func(shares []Share) (out []int) {
		for _, s := range shares {
			if s.GPUs > 0 {
				out = append(out, s.GPUs)
			}
		}
		return out
	}
	if len(r.Shares) == 0 || !slices.Equal(counts(r.Shares), counts(last.shares)) {
		return holding{}, false
	}
	return last, true
}
