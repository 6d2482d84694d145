package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Accountant asks Slurm's accounting in a goroutine, one question at a time: a database may
// take minutes. An answer that does not come at once is handed out to a later call, whatever
// jobs that names, and until one comes at once again none is waited for.
type Accountant struct {
	under slurm.Accountant
	asker asker[[]slurm.PastRun]
}

var _ slurm.Accountant = (*Accountant)(nil)

// NewAccountant returns an Accountant over the one given, whose questions end with ctx; now is
// the clock.
func NewAccountant(ctx context.Context, under slurm.Accountant, now func() time.Time) *Accountant {
	return &Accountant{under: under, asker: asker[[]slurm.PastRun]{ctx: ctx, now: now}}
}

// Past returns engine.ErrAsking while there is no answer.
func (a *Accountant) Past(ctx context.Context, ids []slurm.JobID, since time.Time) ([]slurm.PastRun, error) {
	return a.asker.ask(ctx, func(ctx context.Context) ([]slurm.PastRun, error) { return a.under.Past(ctx, ids, since) })
}
