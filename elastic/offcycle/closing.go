package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Closing is a journal that passes every move that was closed to a function, AFTER it is stored.
//
// Closed is called on the goroutine of the caller, so that it MUST NOT wait, and MUST NOT be nil. A
// move that is closed again, which the journal allows, is passed again. A crash between the two
// loses the call, not the end of the move: what Closed keeps has to be something that nothing is
// decided by (decision 53).
type Closing struct {
	journal.Journal
	Closed func(elastic.Intent, elastic.Outcome, reason.Reason, time.Time)
}

// Close ends an intent in the journal. After an error Closed is not called: the move is still open.
func (c Closing) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	err := c.Journal.Close(ctx, in, how, why, at)
	if err == nil {
		c.Closed(in, how, why, at)
	}
	return err
}
