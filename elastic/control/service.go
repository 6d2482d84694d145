package control

import (
	"context"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// Service is what the daemon puts behind the socket. All methods may be called
// from many goroutines at once. Errors that are a *wire.Error reach the
// client as they are; slurm errors are translated; everything else arrives as
// Internal and is logged.
type Service interface {
	// Report returns what the last cycle published, nil before the first. The
	// server never changes it.
	Report() *publish.Report
	// Plan observes and decides as the next cycle would and does nothing.
	Plan(ctx context.Context) (engine.Forecast, error)
	// Direct carries out the user's order on a job that is in the Report. The
	// server has already checked that the caller may give it and that the
	// change is valid; it returns once the order is durable (in the job's
	// comment), not once the job has changed size.
	Direct(ctx context.Context, caller Caller, job elastic.JobID, change wire.Change) error
	// Trust lets a node be used whatever jobs said of its GPUs. The server has
	// checked that the caller may order it.
	Trust(ctx context.Context, caller Caller, node string) error
	// Segments returns the runs of the job with this token, oldest first.
	Segments(ctx context.Context, token string) ([]journal.Segment, error)
	// Speeds returns what is known of a user's jobs of a model, settled; empty when
	// nothing is. The server has checked that the caller may see it.
	Speeds(ctx context.Context, uid uint32, model string) (engine.Speeds, error)
	// Refresh brings the report up to what running jobs have written, where that can be
	// done at once. It is called as often as clients ask.
	Refresh(ctx context.Context)
	// Meet looks for one job that is not in the report, and puts it there.
	Meet(ctx context.Context, job elastic.JobID)
	// Wake makes the next cycle start soon. It never blocks.
	Wake()
}
