package execute

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// DoChores performs the actions that belong to no move (see track.Chores): it defers jobs that
// Slurm requeued, carries out users' orders and writes them into comments, and withdraws requests
// that no move needs. It reports whether there were any. Then it renews begin times.
func (x *Executor) DoChores(ctx context.Context, now time.Time) bool {
	did := false
	moving := map[elastic.JobID]bool{}
	for _, in := range x.Open {
		moving[in.Job] = true
	}
	for _, js := range x.Ordered() {
		if !js.Shown.Seen || !js.Rec.Ended.IsZero() || moving[js.Rec.ID] {
			continue
		}
		for _, a := range x.Chores(js, now) {
			did = true
			if err := x.perform(ctx, a, elastic.Job{ID: js.Rec.ID}, now); err != nil {
				x.CouldNot(a, js.Rec.ID, err, now)
				break
			}
		}
	}
	for _, a := range track.Renewals(x.Ordered(), x.State.Open, x.Rules.Limits.Abandon, now) {
		if err := x.perform(ctx, a, elastic.Job{ID: a.About()}, now); err != nil {
			x.CouldNot(a, a.About(), err, now)
		}
	}
	return did
}
