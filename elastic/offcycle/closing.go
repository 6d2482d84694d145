package offcycle

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Closing is a journal that passes every move that was closed to a function, AFTER it is stored.
type Closing struct {
	journal.Journal
	Closed func(elastic.Intent, elastic.Outcome, reason.Reason, time.Time)
}

// Close ends an intent in the journal.
func (c Closing) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	err := c.Journal.Close(ctx, in, how, why, at)
	if err == nil {
		c.Closed(in, how, why, at)
	}
	return err
}
