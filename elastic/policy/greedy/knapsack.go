package greedy

import "github.com/sluice-hpc/sluice/elastic"

// Knapsack gives every job its minimum as early as possible, in order of arrival, guarantees
// started jobs their minimum, and gives every further GPU to where it saves most remaining time
// (marginal utility). The ORDER of its steps is the priority.
//
// Steps 1 to 5 change round.base, the sizes without any reduction, and recompute round.size from
// it with the cheapest reductions (round.fill). So a reduction made for one job is reconsidered
// when the next one is planned. Step 6 only raises round.size.
func Knapsack(s elastic.Snapshot) elastic.Allocation {
	r := newRound(s)
	r.shrinkToPins()       // 1. Pinned jobs with more GPUs than their pin give the rest back.
	r.shrinkSlowed()       // 2. Jobs that are slower with more GPUs give some back.
	r.startWaiting()       // 3. Waiting jobs start at their minimum; running ones shrink for them.
	r.reserveForOrdinary() // 4. Ordinary jobs that wait get room; running ones shrink for them too.
	r.growToPins()         // 5. Pinned jobs below their pin grow to it.
	r.growIdle()           // 6. Idle GPUs go to where they save most time, if no job waits.
	return r.decide(r.explain)
}
