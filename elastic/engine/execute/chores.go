package execute

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Tidy does the small effects outside moves: it catches jobs Slurm requeued by
// itself, writes standing orders into comments, and gives back what a user took
// out of sluice's hands. It reports whether it did anything.
func (x *Executor) Tidy(ctx context.Context, now time.Time) bool {
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
			}
		}
	}
	return did
}
