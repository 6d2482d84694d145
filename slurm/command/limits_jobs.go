package command

import (
	"slices"

	"github.com/sluice-hpc/sluice/slurm"
)

// jobLimitFields are asked of squeue for the limits only.
var jobLimitFields = [...]string{"JobID", "Reservation", "MinMemory", "tres-alloc"}

// parseJobLimits reads which jobs are in which reservation, and how each job requests
// memory.
func parseJobLimits(out string, d delimiter) (map[slurm.JobID]string, map[slurm.JobID]slurm.Memory, error) {
	in, memory, words := map[slurm.JobID]string{}, map[slurm.JobID]slurm.Memory{}, pool{}
	_, err := d.split(out, len(jobLimitFields), func(r []string) {
		id, err := jobID(r[0])
		if err != nil {
			return
		}
		if !empty(r[1]) {
			in[id] = words.own(r[1])
		}
		if m := askedMemory(r[2], r[3]); m != (slurm.Memory{}) {
			memory[id] = m
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return in, memory, nil
}

// askedMemory finds out what squeue's MinMemory means. squeue prints it alike for memory
// per node, per CPU and, in newer releases, per GPU. The job's total memory tells which
// one it is where it can. It is taken as per GPU only if nothing else fits; memory per
// GPU is already known from the job's Spec. A job that requests no memory gets the node's
// whole memory, or the site's default.
func askedMemory(least, tracked string) (m slurm.Memory) {
	each, ok := megabytes(least)
	had := map[string]int{}
	for _, a := range amounts(tracked) {
		had[a.Of] = a.N
	}
	all, nodes, cpus, gpus := had[slurm.OfMemory], max(1, had[slurm.OfNodes]), max(1, had[slurm.OfCPUs]), max(1, had[slurm.OfGPUs])
	if !ok || each == 0 {
		m.PerNode = int64(all / nodes)
		return m
	}
	node, cpu := all == each*nodes, all == each*cpus
	switch {
	case node || cpu:
		if node {
			m.PerNode = int64(each)
		}
		if cpu {
			m.PerCPU = int64(each)
		}
	case all == each*gpus:
		m.PerGPU = int64(each)
	default:
		m = slurm.Memory{PerNode: int64(each), PerCPU: int64(each), PerGPU: int64(each)}
	}
	return m
}

// limitsMemory reports whether memory is limited anywhere.
func limitsMemory(l *slurm.Limits) bool {
	found := slices.ContainsFunc(l.Partitions, func(p slurm.Partition) bool { return p.MemoryPerNode > 0 })
	billed := slices.ContainsFunc(l.Partitions, func(p slurm.Partition) bool {
		return slices.ContainsFunc(p.Weights, func(w slurm.Weight) bool { return w.Of == slurm.OfMemory })
	})
	everyAmount(l, func(list *[]slurm.Amount) {
		found = found || slices.ContainsFunc(*list, func(a slurm.Amount) bool {
			return a.Of == slurm.OfMemory || billed && a.Of == slurm.OfBilling
		})
	})
	return found
}

// forgetMemory removes the limits on memory, which do not bind if Slurm does not allocate
// memory.
func forgetMemory(l *slurm.Limits) {
	everyAmount(l, func(list *[]slurm.Amount) {
		*list = slices.DeleteFunc(*list, func(a slurm.Amount) bool { return a.Of == slurm.OfMemory })
	})
	for i := range l.Partitions {
		l.Partitions[i].MemoryPerNode = 0
	}
}

// everyAmount calls do with each list of amounts.
func everyAmount(l *slurm.Limits, do func(*[]slurm.Amount)) {
	minutes := func(m *slurm.Minutes) { do(&m.Budget); do(&m.Used); do(&m.Group); do(&m.Job) }
	for i := range l.Associations {
		a := &l.Associations[i]
		do(&a.Group)
		do(&a.Own)
		do(&a.Job)
		do(&a.Node)
		minutes(&a.Minutes)
	}
	for i := range l.QOS {
		q := &l.QOS[i]
		for _, list := range []*[]slurm.Amount{&q.Group, &q.User, &q.Account, &q.Job, &q.Node, &q.Least, &q.UserMinutes, &q.AccountMinutes} {
			do(list)
		}
		minutes(&q.Minutes)
	}
}
