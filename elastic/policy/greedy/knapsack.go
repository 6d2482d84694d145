package greedy

import "github.com/sluice-hpc/sluice/elastic"

// Knapsack is the rule of system A: quick response with the minimum, the minimum
// guaranteed, first come first served, and every further GPU where it saves
// most of the time that is left.
func Knapsack(s elastic.Snapshot) elastic.Allocation {
	r := newRound(s)
	r.shrinkToPins()       // 1. Pinned jobs on more than their pin give the rest back.
	r.shrinkSlowed()       // 2. Jobs that GPUs make slower give some back.
	r.startWaiting()       // 3. Waiting jobs start on their minimum; running ones are reduced for them.
	r.reserveForOrdinary() // 4. Ordinary jobs that wait get room; running ones are reduced for them too.
	r.growToPins()         // 5. Pinned jobs below their pin grow to it.
	r.growIdle()           // 6. Idle GPUs go where they save most time, if no job waits.
	return r.decide(r.explain)
}
