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
	if len(all) <= maxSpread {
		return all
	}
	out := make([]time.Duration, maxSpread)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(maxSpread-1)]
	}
	return out
}
