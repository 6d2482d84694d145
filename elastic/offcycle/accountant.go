package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Accountant queries Slurm's accounting in a goroutine, one query at a time, since a database
// may take minutes. An answer that does not come within 2 s is returned by a later call,
// whatever jobs that names. Until one comes in time again, calls do not wait.
type Accountant struct {
	under slurm.Accountant
	asker asker[[]slurm.PastRun]
}

var _ slurm.Accountant = (*Accountant)(nil)

// NewAccountant returns an Accountant over another one, whose queries end with ctx; now is the
// clock.
func NewAccountant(ctx context.Context, under slurm.Accountant, now func() time.Time) *Accountant {
	return &Accountant{under: under, asker: asker[[]slurm.PastRun]{ctx: ctx, now: now}}
}

// Past returns the accounting of the jobs since a time, or engine.ErrAsking while there is no
// answer.
func (a *Accountant) Past(ctx context.Context, ids []slurm.JobID, since time.Time) ([]slurm.PastRun, error) {
	return a.asker.ask(ctx, func(ctx context.Context) ([]slurm.PastRun, error) { return a.under.Past(ctx, ids, since) })
}
