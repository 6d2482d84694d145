package execute

import (
	"context"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// Direct records a user's directive for a job. It is in force when Direct returns nil. Earlier
// refusals, unanswered requests and unusable checkpoints are then forgotten, so that the next cycle tries
// again.
//
// js MUST NOT have ended. The directive replaces the one before as a whole. The journal comes
// first. The job's comment follows with the next chores (Annotate); until then the record wins over
// it.
func (x *Executor) Direct(ctx context.Context, js *track.Job, order elastic.Directive) error {
	rec := js.Rec
	rec.Tag.Directive = order
	rec.Deaf = 0 // ask again
	if err := x.Journal.SaveJobs(ctx, []journal.JobRecord{rec}); err != nil {
		return fmt.Errorf("job %d: not recorded: %w", rec.ID, err)
	}
	js.Rec, js.PendingTag = rec, true
	track.TryAgain(js)
	return nil
}

// Redate records a job's new deadline, and whether it is admitted. It is in force when Redate returns nil.
//
// rec MUST be js.Rec with the changes, and MUST have been judged by a decision if it is admitted
// (decision 55). An error leaves the job as it was.
func Redate(ctx context.Context, x *Executor, js *track.Job, rec journal.JobRecord) error {
	if err := x.Journal.SaveJobs(ctx, []journal.JobRecord{rec}); err != nil {
		return fmt.Errorf("job %d: not recorded: %w", rec.ID, err)
	}
	js.Rec, js.PendingTag = rec, true
	track.TryAgain(js)
	return nil
}

// Trust records the complaints that are left after an operator trusted a node. The caller gives up
// the list. What is stored equals the state then, so that Save does not write it again.
func (x *Executor) Trust(ctx context.Context, trusted elastic.Health) error {
	if err := x.Journal.SaveHealth(ctx, trusted); err != nil {
		return fmt.Errorf("not recorded: %w", err)
	}
	x.Health, x.Kept = trusted, trusted
	return nil
}

// ForgetFolder removes the daemon's files of a job that has ended. A failure is ignored: the files
// are small, and nothing reads them.
func (x *Executor) ForgetFolder(js *track.Job) { _ = x.Mail.Forget(js.Rec.Token) }
