package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// Limiter queries the site's limits in a goroutine, one query at a time: slurmdbd may hang
// until a command's deadline, and there are several commands. Limits that do not come within 2
// s are returned by a later call. Until some come in time again, calls do not wait. A query may begin
// ahead of the call that needs its answer.
type Limiter struct {
	under slurm.Limiter
	asker asker[slurm.Limits]
}

var (
	_ slurm.Limiter = (*Limiter)(nil)
	_ observe.Asker = (*Limiter)(nil)
)

// NewLimiter returns a Limiter over another one, whose queries end with ctx; now is the clock.
func NewLimiter(ctx context.Context, under slurm.Limiter, now func() time.Time) *Limiter {
	return &Limiter{under: under, asker: asker[slurm.Limits]{ctx: ctx, now: now}}
}

// Ask begins a query whose answer the next call of Limits returns. It returns false while another
// one is under way, or has an answer that no call has returned. It never waits. The query takes the
// place of one that was begun ahead, has ended and was not used, or is too old.
func (l *Limiter) Ask() bool { return l.asker.ahead(l.under.Limits) }

// Limits returns the site's limits, or observe.ErrAsking while there is no answer. ctx bounds the
// wait alone. After ErrAsking the caller goes on with the limits that it has, and calls again in
// the next cycle.
func (l *Limiter) Limits(ctx context.Context) (slurm.Limits, error) {
	return l.asker.ask(ctx, l.under.Limits)
}
