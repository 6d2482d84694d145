package execute

import (
	"context"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// Direct makes a user's standing order about a job durable. The order is in force when Direct
// returns nil, and then the job is asked and started again whatever came of that before.
func (x *Executor) Direct(ctx context.Context, js *track.Job, order elastic.Directive) error {
	rec := js.Rec
	rec.Tag.Directive = order
	rec.Deaf = 0 // an order is worth another question
	if err := x.Journal.SaveJobs(ctx, []journal.JobRecord{rec}); err != nil {
		return fmt.Errorf("job %d: not recorded: %w", rec.ID, err)
	}
	js.Rec, js.PendingTag = rec, true
	js.Placing.Refused = elastic.Refused{} // and another try
	return nil
}

// Trust makes durable what is said against GPUs once an operator trusts a node.
func (x *Executor) Trust(ctx context.Context, trusted elastic.Health) error {
	if err := x.Journal.SaveHealth(ctx, trusted); err != nil {
		return fmt.Errorf("not recorded: %w", err)
	}
	x.Health, x.Kept = trusted, trusted
	return nil
}

// ForgetFolder removes the daemon's files of a job that has ended. One that cannot be removed is
// not tried again: it is small, and nothing reads it.
func (x *Executor) ForgetFolder(js *track.Job) { _ = x.Mail.Forget(js.Rec.Token) }
