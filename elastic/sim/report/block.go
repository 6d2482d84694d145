package report

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// Run is one simulation as a report needs it.
type Run struct {
	Summary
	// Spread is the JCT of jobs at even steps of rank, ascending (see Spread); a
	// page draws distributions from it. Table, JSON and CSV do without.
	Spread []time.Duration
	// Track is what happened in the course of time; nil leaves it out of the page.
	Track *Track
	// Jobs are its jobs, for WriteJobs; nil where they are not written.
	Jobs []replay.JobResult
	// Accounts is what came of each account; nil without shares.
	Accounts []Account
	// Sweeps is what came of each sweep; nil without.
	Sweeps []Sweep
}

// block is all there is of one workload.
type block struct {
	name string
	note string
	rows []row // one a policy, in order of appearance
}

// row is one policy on one workload.
type row struct {
	Summary          // the mean over seeds
	runs    []Run    // one a seed
	vs      *Summary // the first policy of the block; the row itself in the first
	seeds   []uint64 // of the runs
}

// blocks sorts runs by workload and policy, both in order of appearance.
func blocks(runs []Run) []block {
	var out []block
	at := map[string]int{}
	in := map[[2]string]int{}
	for _, r := range runs {
		w, p := r.Workload, r.Policy
		if _, known := at[w]; !known {
			at[w] = len(out)
			out = append(out, block{name: w, note: r.Note})
		}
		b := &out[at[w]]
		if _, known := in[[2]string{w, p}]; !known {
			in[[2]string{w, p}] = len(b.rows)
			b.rows = append(b.rows, row{})
		}
		line := &b.rows[in[[2]string{w, p}]]
		line.runs = append(line.runs, r)
		line.seeds = append(line.seeds, r.Seed)
	}
	for i := range out {
		for k := range out[i].rows {
			line := &out[i].rows[k]
			of := make([]Summary, len(line.runs))
			for n, r := range line.runs {
				of[n] = r.Summary
			}
			line.Summary = Mean(of)
			line.vs = &out[i].rows[0].Summary
		}
	}
	return out
}

// toFirst is a figure over the first policy's; NaN when both are nought.
func toFirst[F ~float64](figure, first F) Ratio { return Ratio(float64(figure) / float64(first)) }

// versus writes toFirst, "-" where there is no ratio.
func versus[F ~float64](figure, first F) string {
	if s := toFirst(figure, first).String(); s != "null" {
		return s
	}
	return "-"
}
