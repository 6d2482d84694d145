package greedy

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// demotion is the attained service, in GPU-seconds, from which on a job of tiresias is in the
// second queue: 16 GPU-hours, as in the published simulations.
const demotion = 16 * 3600.0

// Tiresias is discretised least attained service with two queues (Gu et al., Tiresias, NSDI
// 2019, section 3.2), at the sizes that users requested, which never change. Jobs with less
// than 16 GPU-hours come first; each queue is in order of arrival. A job that does not fit is
// skipped, and stopped. If jobs may not be stopped, every job has least attained service when
// it starts, and the order is first come, first served at the requested sizes.
func Tiresias(s elastic.Snapshot) elastic.Allocation {
	if s.Limits.Preempt {
		return division{rule: leastAttained, stops: true, rigid: true, because: attained}.allocate(s)
	}
	return baseline{policy: "tiresias", size: asked, why: reason.TiresiasRule}.allocate(s)
}

// asked returns the size that its user requested, or the largest below it that the job accepts
// and the nodes allow; at least its minimum. The search stops at the minimum without asking
// whether the nodes have a split of it.
func asked(q *queue, j *elastic.Job) int {
	uneven := j.Spec.AllowUneven || q.snap.Limits.AnySplit()
	for n := j.Asked; n > j.Spec.Min; n-- {
		if j.Spec.Allows(n, n) && q.pool(nodes.Request{Partition: j.Partition, Uneven: uneven}).splits(n) {
			return n
		}
	}
	return j.Spec.Min
}

// attained returns the attained service by which tiresias orders the job.
func attained(_ *reasons, j *job) reason.Reason {
	return reason.Attained{GPUHours: j.Attained / 3600}
}

// TiresiasQueue returns the queue of the job, 0 or 1. Simulators place queue 0 first
// (policy.Policy.Queue).
func TiresiasQueue(j elastic.Job) int {
	if j.Attained >= demotion {
		return 1
	}
	return 0
}

// leastAttained is the rule of tiresias. Its parts have two sizes, 0 and the requested one. A job
// that does not fit is skipped, and smaller ones behind it are tried: in this policy they may
// overtake.
func leastAttained(parts []part, gpus int) {
	for i := range parts {
		gpus -= parts[i].size()
	}
	for queue := range 2 {
		for i := range parts {
			p := &parts[i]
			if more, ok := p.more(); ok && more <= gpus && queue == TiresiasQueue(p.Job) {
				gpus -= more
				p.at++
			}
		}
	}
}
