package control

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/past"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Service is what the daemon implements behind the API. All methods MUST be safe for concurrent
// use. A *wire.Error is sent to the client as it is; errors of package slurm are translated;
// any other error is sent as Internal and logged.
type Service interface {
	// Report returns what the last cycle published, nil before the first cycle. Neither side
	// may change it.
	Report() *publish.Report
	// Plan observes and decides as the next cycle would, without any effect.
	Plan(ctx context.Context) (engine.Forecast, error)
	// Direct carries out the caller's order on a job that is in the Report. The server has
	// checked BEFORE that the caller may give it and that the change is valid. Direct returns
	// once the order is durable (in the job's comment), not once the job has changed size.
	Direct(ctx context.Context, caller Caller, job elastic.JobID, change wire.Change) error
	// Trust allows a node to be used again, whatever jobs reported of its GPUs. The server has
	// checked BEFORE that the caller may order it.
	Trust(ctx context.Context, caller Caller, node string) error
	// Segments returns the runs of the job with this token, oldest first.
	Segments(ctx context.Context, token string) ([]journal.Segment, error)
	// Speeds returns what is known of a user's jobs of a model, settled; empty when
	// nothing is. The server has checked that the caller may see it.
	Speeds(ctx context.Context, uid uint32, model string) (engine.Speeds, error)
	// Past passes every job that has not ended, or ended at since or later, with its runs, oldest
	// first; jobs for which wanted is false are left out. It stops at the first error of each and
	// returns it. It MUST NOT keep a cycle waiting.
	Past(ctx context.Context, since time.Time, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) error
	// Page is Past in pages: from the position at, which is zero at first, it looks at scan jobs at most. It
	// returns the position after the last one that it passed, and more if there may be others. each may end
	// the page with journal.ErrPageFull.
	Page(ctx context.Context, since time.Time, at journal.Position, scan int, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) (next journal.Position, more bool, err error)
	// Entries and Samples return the next part of the history that a query selects, at most Query.Most, in
	// order of time. They MUST NOT keep a cycle waiting.
	Entries(ctx context.Context, q past.Query) ([]past.Entry, error)
	Samples(ctx context.Context, q past.Query) ([]past.Sample, error)
	// Forecast projects the last report forward, at most once a cycle, beside the cycle. Its caller MUST
	// NOT change it.
	Forecast(ctx context.Context) (forecast.Projection, error)
	// WhatIf is the same without the change and with it. The server has checked that the job is there and
	// that the change is possible for it.
	WhatIf(ctx context.Context, c Caller, change wire.WhatIf) (before, after forecast.Projection, err error)
	// Deadline changes a job's deadline, as Direct gives other orders. It returns the job's entry of the
	// report with the new deadline as judged at once, nil if nothing judged it.
	Deadline(ctx context.Context, caller Caller, job elastic.JobID, change wire.Change) (*elastic.JobReason, error)
	// Sweeps returns the sweeps that are looked after, by token, without their users and accounts. The
	// lanes have their tokens' jobs in the Report; Sweeps says the trial of each. Neither side may change
	// what it returns.
	Sweeps() map[string]SweepReport
	// SweepTrials returns a part of the trials of a user's sweep, by its token. The server has checked that
	// the caller may see them. It MUST NOT keep a cycle waiting.
	SweepTrials(ctx context.Context, token string, uid uint32, q digest.Query) (digest.Digest, error)
	// Events returns the feed of events, always the same.
	Events() *feed.Feed
	// Refresh adds to the report what running jobs have written since, if that can be done at
	// once. It is called as often as clients ask.
	Refresh(ctx context.Context)
	// Meet looks up one job that is not in the report, and adds it.
	Meet(ctx context.Context, job elastic.JobID)
	// Wake makes the next cycle start soon. It never blocks.
	Wake()
}
