package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Sharer queries the tree of shares in a goroutine, one query at a time: sshare may wait for
// slurmdbd until its deadline. A tree that does not come within 2 s is returned by a later call.
// Until one comes in time again, calls do not wait.
type Sharer struct {
	under slurm.Sharer
	asker asker[[]slurm.Share]
}

var _ slurm.Sharer = (*Sharer)(nil)

// NewSharer returns a Sharer over another one, whose queries end with ctx; now is the clock.
func NewSharer(ctx context.Context, under slurm.Sharer, now func() time.Time) *Sharer {
	return &Sharer{under: under, asker: asker[[]slurm.Share]{ctx: ctx, now: now}}
}

// Shares returns the tree of shares, or observe.ErrAsking while there is no answer. ctx bounds the
// wait alone.
func (s *Sharer) Shares(ctx context.Context) ([]slurm.Share, error) {
	return s.asker.ask(ctx, s.under.Shares)
}
