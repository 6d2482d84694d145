package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// DefaultAbandon is how long sluiced may be gone before Slurm starts waiting jobs by itself.
const DefaultAbandon = 2 * time.Hour

// deferral puts a waiting job off by abandon (0 = DefaultAbandon), until its user's own begin time if
// that is later.
func deferral(rec *journal.JobRecord, abandon time.Duration, now time.Time) elastic.Action {
	return elastic.Defer{Job: rec.ID, Until: Later(now.Add(cmp.Or(abandon, DefaultAbandon)), rec.Tag.Begin)}
}

// Renewals returns the begin times that are due to be renewed, the soonest first. Each job's is
// renewed when less than a half, at the latest a quarter, of abandon is left, which differs
// from job to job, so that jobs that were submitted at once are not renewed at once. A cycle renews
// an eighth of the jobs that wait at most, and a few more. If sluiced is gone for that long, Slurm
// starts the jobs by itself (I6); a begin time that is not renewed in time has the same effect, so
// that those that end first are renewed first. With the default, a job is renewed 30 to 60 minutes
// ahead.
func Renewals(jobs []*Job, open Moves, abandon time.Duration, now time.Time) (out []elastic.Action) {
	var due []*Job
	waiting := 0
	for _, js := range jobs {
		sj := &js.Shown.Slurm
		if !js.Shown.Seen || !js.lives() || sj.State != slurm.Pending || sj.Completing || olderHold(js.Shown.Slurm, js.Rec.Tag) || open.has(js.Rec.ID) || PhaseOf(*sj, now) != elastic.Waiting || sj.Reason == setAside {
			continue
		}
		if waiting++; sj.Eligible.Sub(now) < renewsAt(js.Rec.ID, cmp.Or(abandon, DefaultAbandon)) {
			due = append(due, js)
		}
	}
	slices.SortStableFunc(due, func(a, b *Job) int { return a.Shown.Slurm.Eligible.Compare(b.Shown.Slurm.Eligible) })
	for _, js := range due[:min(len(due), fewRenewals+waiting/8)] {
		out = append(out, deferral(&js.Rec, abandon, now))
	}
	return out
}

// fewRenewals is how many begin times any cycle may renew.
const fewRenewals = 16

// renewsAt is how long before its begin time a job's is renewed: a quarter to a half of abandon, by its
// number.
func renewsAt(id elastic.JobID, abandon time.Duration) time.Duration {
	const parts = 1 << 10
	spread := time.Duration(uint32(id) * 2654435761 >> 22) // Knuth's multiplicative hash: 0 to parts-1
	quarter := abandon / 4
	return quarter + quarter/parts*spread
}
