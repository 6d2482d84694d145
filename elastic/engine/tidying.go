package engine

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// tidy does the small effects outside moves: it catches jobs Slurm requeued by
// itself, writes standing orders into comments, and gives back what a user took
// out of sluice's hands. It reports whether it did anything.
func (h *hands) tidy(ctx context.Context, now time.Time) bool {
	did := false
	moving := map[elastic.JobID]bool{}
	for _, in := range h.open {
		moving[in.Job] = true
	}
	for _, js := range h.ordered() {
		if !js.shown.seen || !js.rec.Ended.IsZero() || moving[js.rec.ID] {
			continue
		}
		for _, a := range h.chores(js, now) {
			did = true
			if err := h.perform(ctx, a, elastic.Job{ID: js.rec.ID}, now); err != nil {
				h.CouldNot(a, js.rec.ID, err, now)
			}
		}
	}
	return did
}
