package execute

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// Record writes a plan's moves to the journal, stores each job's reason, and returns the moves with
// the IDs that the journal assigned. After an error no move is open.
//
// The moves that are returned MUST be those that Act gets: those of the plan have no IDs. All are
// recorded or none. The reasons are kept also after an error, since readers are to see what was
// decided. A plan without moves does not touch the journal.
func (x *Executor) Record(ctx context.Context, decided elastic.Plan, now time.Time) ([]elastic.Intent, error) {
	x.Decided(decided)
	if len(decided.Open) == 0 {
		return nil, nil
	}
	opened, err := x.Journal.Intend(ctx, decided.Open)
	if err != nil {
		return nil, fmt.Errorf("recording %d moves: %w; nothing was started", len(decided.Open), err)
	}
	for _, in := range opened {
		if js := x.ByID[in.Job]; js != nil {
			x.Opened(js, in.Kind, now)
		}
		x.Tell(now, in.Job, "open", fmt.Sprintf("%s %s -> %s, incarnation %d: %s", in.Kind, in.From, in.Target, in.To, say.Reason(in.Cause, now)), event.OfMove(in))
	}
	x.Open = append(x.Open, opened...)
	return opened, nil
}
