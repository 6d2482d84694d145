package greedy

import (
	"github.com/sluice-hpc/sluice/elastic"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// FCFS is the baseline first come, first served: each job gets its minimum and is never
// resized.
func FCFS(s elastic.Snapshot) elastic.Allocation {
	return baseline{policy: "fcfs", size: minimum, why: reason.FCFSRule}.allocate(s)
}

// minimum is the size at which a job can start.
func minimum(_ *queue, j *elastic.Job) int { return j.Spec.Min }
