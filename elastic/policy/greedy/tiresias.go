package greedy

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// demotion is the service, in GPU-seconds, from which on a job of tiresias goes
// to the second queue: 16 GPU-hours, as in the published simulations.
const demotion = 16 * 3600.0

// Tiresias is discretised least attained service in two queues (Gu et al.,
// Tiresias, NSDI 2019, section 3.2) with the sizes users asked for, which never
// change: jobs that have had less than 16 GPU-hours come first, each queue in
// the order of arrival. Who does not fit is passed over, and stopped. Where jobs
// may not be stopped, nobody runs who has not had least, and it is first come,
// first served on the sizes asked for.
func Tiresias(s elastic.Snapshot) elastic.Allocation {
	if s.Limits.Preempt {
		return division{rule: leastAttained, stops: true, rigid: true, because: attained}.allocate(s)
	}
	return baseline{policy: "tiresias", size: asked, why: reason.TiresiasRule}.allocate(s)
}

// asked is the size its user asked for, or the largest below it that the job
// accepts and the nodes can give; its minimum at least.
func asked(q *queue, j *elastic.Job) int {
	uneven := j.Spec.AllowUneven || q.snap.Limits.AnySplit()
	for n := j.Asked; n > j.Spec.Min; n-- {
		if j.Spec.Allows(n, n) && q.pool(nodes.Request{Partition: j.Partition, Uneven: uneven}).splits(n) {
			return n
		}
	}
	return j.Spec.Min
}

// attained says what tiresias goes by.
func attained(_ *reasons, j *job) reason.Reason {
	return reason.Attained{GPUHours: j.Attained / 3600}
}

// TiresiasQueue returns the queue the job is in, 0 or 1.
func TiresiasQueue(j elastic.Job) int {
	if j.Attained >= demotion {
		return 1
	}
	return 0
}

// leastAttained is the rule of tiresias.
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
