package execute

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// Record makes a plan's moves durable, notes each job's reason and returns the
// moves as the journal numbered them.
func (h *Hands) Record(ctx context.Context, decided elastic.Plan, now time.Time) ([]elastic.Intent, error) {
	h.Decided(decided)
	if len(decided.Open) == 0 {
		return nil, nil
	}
	opened, err := h.Journal.Intend(ctx, decided.Open)
	if err != nil {
		return nil, fmt.Errorf("recording %d moves: %w; nothing was started", len(decided.Open), err)
	}
	for _, in := range opened {
		if js := h.ByID[in.Job]; js != nil {
			h.Opened(js, in.Kind, now)
		}
		h.Tell(now, in.Job, "open", fmt.Sprintf("%s %s -> %s, incarnation %d: %s", in.Kind, in.From, in.Target, in.To, say.Reason(in.Cause, now)), event.OfMove(in))
	}
	h.Open = append(h.Open, opened...)
	return opened, nil
}
