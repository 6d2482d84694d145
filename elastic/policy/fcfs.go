package policy

import "github.com/sluice-hpc/sluice/elastic"

// fcfs is the baseline of one minimum each: first come, first served, and never
// resized.
func fcfs(s elastic.Snapshot) elastic.Allocation {
	return entry{policy: "fcfs", size: minimum, why: "its minimum, and the fcfs policy gives no more"}.allocate(s)
}

// minimum is the size at which a job can start.
func minimum(_ *queue, j *elastic.Job) int { return j.Spec.Min }
