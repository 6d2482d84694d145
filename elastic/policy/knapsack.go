package policy

import "github.com/sluice-hpc/sluice/elastic"

// knapsackPolicy is the default: quick response with the minimum, the minimum
// guaranteed, first come first served, and every further GPU where it saves
// most of the time that is left.
func knapsackPolicy(s elastic.Snapshot) elastic.Allocation {
	r := newRound(s)
	r.release() // 1. Pinned jobs on more than their pin give the rest back.
	r.relieve() // 2. Jobs that GPUs make slower give some back.
	r.admit()   // 3. Waiting jobs start on their minimum; running ones are reduced for them.
	r.yield()   // 4. Ordinary jobs that wait get room; running ones are reduced for them too.
	r.enlarge() // 5. Pinned jobs below their pin grow to it.
	r.expand()  // 6. Idle GPUs go where they save most time, if nobody waits.
	return r.decide(r.explain)
}
