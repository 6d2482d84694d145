package policy

import (
	"maps"

	"github.com/sluice-hpc/sluice/elastic"
)

// startable has decide answer about the jobs that Slurm would start now, or that run. The
// others get nothing, and keep no other job waiting.
func startable(s elastic.Snapshot, decide func(elastic.Snapshot) elastic.Allocation) elastic.Allocation {
	out := elastic.Allocation{}
	jobs := make([]elastic.Job, 0, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		_, moves := s.Intent(j.ID)
		if why := j.WaitsOutside(); why != "" && !moves {
			out[j.ID] = elastic.Decision{Why: why}
			continue
		}
		jobs = append(jobs, *j)
	}
	if len(out) == 0 {
		return decide(s)
	}
	s.Jobs = jobs
	maps.Copy(out, decide(s))
	return out
}
