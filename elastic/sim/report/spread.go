package report

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// maxSpread is how many values of a distribution are kept.
const maxSpread = 400

// Spread returns the JCT of the jobs in ascending order, of more than 400 jobs
// that of 400 at even steps of rank, the shortest and the longest among them.
func Spread(jobs []replay.JobResult) []time.Duration {
	all := make([]time.Duration, len(jobs))
	for i, j := range jobs {
		all[i] = j.JCT()
	}
	slices.Sort(all)
	return thinned(all)
}

// thinned keeps at most maxSpread values at even steps of rank.
func thinned(sorted []time.Duration) []time.Duration {
	if len(sorted) <= maxSpread {
		return sorted
	}
	out := make([]time.Duration, maxSpread)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(maxSpread-1)]
	}
	return out
}
