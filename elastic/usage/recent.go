package usage

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// Spans are the ranges of Recent, all with the same end: a day, a week, and a month of 30 days. The
// last one is the longest.
var Spans = [...]time.Duration{24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

// GPUSeconds are GPUs held, times the time held, in each of Spans.
type GPUSeconds [len(Spans)]float64

// Plus returns the sum.
func (g GPUSeconds) Plus(h GPUSeconds) GPUSeconds {
	for i := range g {
		g[i] += h[i]
	}
	return g
}

// Member is a user of an account. Account is "" for jobs without one, and Unknown where the job's
// record does not have it.
type Member struct{ Account, User string }

// Recent adds up the GPU-seconds of each user of each account before a time. They are those of
// reports whose ranges are the Spans. One pass over the jobs fills all ranges. A job's hours count
// for the account that it has now.
type Recent struct {
	To time.Time // MUST NOT be in the future
	Of map[Member]GPUSeconds
}

// NewRecent returns one without jobs.
func NewRecent(to time.Time) *Recent { return &Recent{To: to, Of: map[Member]GPUSeconds{}} }

// Since is the begin of the longest range. Jobs that ended before it need not be added.
func (r *Recent) Since() time.Time { return r.To.Add(-Spans[len(Spans)-1]) }

// Add adds one job. Its runs MUST be in order. Each job MUST be added once. One without GPU-seconds
// in any range makes no Member.
func (r *Recent) Add(job journal.JobRecord, runs []journal.Segment) {
	var sum GPUSeconds
	for i, run := range runs {
		end := endOf(job, runs, i, Range{To: r.To})
		for k, span := range Spans {
			sum[k] += Range{From: r.To.Add(-span), To: r.To}.overlap(run.Started, end) * float64(run.Place.GPUs())
		}
	}
	if sum == (GPUSeconds{}) {
		return
	}
	m := Member{Account: Unknown, User: cmp.Or(job.Owner.User, fmt.Sprintf("uid %d", job.Owner.UID))}
	if job.Account.Known {
		m.Account = job.Account.Name
	}
	r.Of[m] = r.Of[m].Plus(sum)
}
