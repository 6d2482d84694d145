package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Limiter asks for the site's limits in a goroutine, one question at a time: slurmdbd may
// hang for a command's whole deadline, and there are several. Limits that do not come at once
// are handed out to a later call, and until some come at once again none are waited for.
type Limiter struct {
	under slurm.Limiter
	asker asker[slurm.Limits]
}

var _ slurm.Limiter = (*Limiter)(nil)

// NewLimiter returns a Limiter over the one given, whose questions end with ctx; now is the
// clock.
func NewLimiter(ctx context.Context, under slurm.Limiter, now func() time.Time) *Limiter {
	return &Limiter{under: under, asker: asker[slurm.Limits]{ctx: ctx, now: now}}
}

// Limits returns engine.ErrAsking while there is no answer.
func (l *Limiter) Limits(ctx context.Context) (slurm.Limits, error) {
	return l.asker.ask(ctx, l.under.Limits)
}
