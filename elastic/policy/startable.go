package policy

import (
	"maps"

	"github.com/sluice-hpc/sluice/elastic"
)

// startable makes decide answer about the jobs that run, or that Slurm would start now. The
// others get nothing, and keep no other job waiting.
//
// Jobs wait outside because of a begin time, a dependency or the like (Job.WaitsOutside); that is the
// reason they get. One with an open move is shown to the policy all the same: the move is finished first.
// This stage is around that of the limits, so that such jobs take no part in their division either.
func startable(s elastic.Snapshot, decide func(elastic.Snapshot) elastic.Allocation) elastic.Allocation {
	out := elastic.Allocation{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if why := j.WaitsOutside(); why != nil {
			if _, moves := s.Intent(j.ID); !moves {
				out[j.ID] = elastic.Decision{Why: why}
			}
		}
	}
	if len(out) == 0 {
		return decide(s)
	}
	jobs := make([]elastic.Job, 0, len(s.Jobs))
	for i := range s.Jobs {
		if _, waits := out[s.Jobs[i].ID]; !waits {
			jobs = append(jobs, s.Jobs[i])
		}
	}
	s.Jobs = jobs
	maps.Copy(out, decide(s))
	return out
}
