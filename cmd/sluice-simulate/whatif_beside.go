package main

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	planner "github.com/sluice-hpc/sluice/nodes"
)

// beside is plain Slurm together with sluice, as on a real site: sluice does not manage
// jobs that are not elastic. Slurm starts them, with backfill, on idle GPUs. beside
// returns the jobs that Slurm starts, and the snapshot that sluice sees then: in it those
// jobs are GPUs in use, and demands while they wait.
func (b backfill) beside(s elastic.Snapshot) (elastic.Allocation, elastic.Snapshot) {
	started := b.serve(s)
	return started, b.rest(s, started)
}

// rest is the snapshot for sluice after Slurm started what it could.
func (b backfill) rest(s elastic.Snapshot, started elastic.Allocation) elastic.Snapshot {
	jobs := s.Jobs
	s.Nodes, s.Jobs, s.Others = slices.Clone(s.Nodes), make([]elastic.Job, 0, len(jobs)), map[string]int{}
	for _, j := range jobs {
		if !ordinary(j) {
			s.Jobs = append(s.Jobs, j)
			continue
		}
		place := j.Place
		if d, now := started[j.ID]; now {
			place = d.Place
			planner.Charge(s.Nodes, planner.Load{Place: place})
		}
		for _, share := range place {
			s.Others[share.Node] += share.GPUs
		}
		if len(place) == 0 {
			s.Demands = append(s.Demands, elastic.Demand{ID: j.ID, Nodes: 1, GPUs: j.Spec.Min})
		}
	}
	return s
}

// startedBySlurm subtracts the start cost from the work of jobs that are not elastic: a
// replay adds it to every job, and the run time in the accounting already includes it.
func startedBySlurm(w workload.Workload, price time.Duration) workload.Workload {
	all := w.Jobs
	w.Jobs = func(yield func(workload.Job) bool) {
		for j := range all {
			if speeds, known := j.Speeds.(workload.Assumed); known && len(j.Spec.Sizes) == 1 {
				took := speeds.Unit * j.Spec.Total
				speeds.Unit *= max(1e-3, 1-price.Seconds()/took)
				j.Speeds = speeds
			}
			if !yield(j) {
				return
			}
		}
	}
	return w
}
