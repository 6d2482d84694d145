package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Accountant queries Slurm's accounting in a goroutine, one query at a time, since a database
// may take minutes. An answer that does not come within 2 s is returned by a later call,
// whatever jobs that names. Until one comes in time again, calls do not wait.
//
// Since an answer may be that to an earlier question, the caller MUST look up its jobs in it, and
// ask again for those that it does not name.
type Accountant struct {
	under slurm.Accountant
	asker asker[[]slurm.PastRun]
}

var _ slurm.Accountant = (*Accountant)(nil)

// NewAccountant returns an Accountant over another one, whose queries end with ctx; now is the
// clock. The clock is used from several goroutines.
func NewAccountant(ctx context.Context, under slurm.Accountant, now func() time.Time) *Accountant {
	return &Accountant{under: under, asker: asker[[]slurm.PastRun]{ctx: ctx, now: now}}
}

// Past returns the accounting of the jobs since a time, or observe.ErrAsking while there is no
// answer. ctx bounds the wait alone; its end does not end the query.
func (a *Accountant) Past(ctx context.Context, ids []slurm.JobID, since time.Time) ([]slurm.PastRun, error) {
	return a.asker.ask(ctx, func(ctx context.Context) ([]slurm.PastRun, error) { return a.under.Past(ctx, ids, since) })
}
