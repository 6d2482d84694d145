package policy

import "github.com/sluice-hpc/sluice/elastic"

// fcfs is the baseline of one minimum each: first come, first served, and never
// resized.
func fcfs(s elastic.Snapshot) elastic.Allocation {
	r := newRound(s)
	r.freeze("fcfs")
	r.admit()
	return r.decide(r.explain)
}

// freeze keeps every running job as it is.
func (r *round) freeze(policy string) {
	for i := range r.jobs {
		if j := &r.jobs[i]; j.role == movable {
			j.role, j.still = fixed, "keeps "+gpus(j.now)+": the "+policy+" policy never resizes"
		}
	}
}
