package control

import (
	"context"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
)

// Service is what the daemon puts behind the socket. All methods may be called
// from many goroutines at once. Errors that are a *control.Error reach the
// client as they are; slurm errors are translated; everything else arrives as
// Internal and is logged.
type Service interface {
	// Report returns what the last cycle published, nil before the first. The
	// server never changes it.
	Report() *engine.Report
	// Plan observes and decides as the next cycle would and does nothing.
	Plan(ctx context.Context) (engine.Forecast, error)
	// Direct carries out the user's order on a job that is in the Report. The
	// server has already checked that the caller may give it and that the
	// change is valid; it returns once the order is durable (in the job's
	// comment), not once the job has changed size.
	Direct(ctx context.Context, caller Caller, job elastic.JobID, change Change) error
	// Trust lets a node be used whatever jobs said of its GPUs. The server has
	// checked that the caller may order it.
	Trust(ctx context.Context, caller Caller, node string) error
	// Segments returns the runs of the job with this token, oldest first.
	Segments(ctx context.Context, token string) ([]engine.Segment, error)
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

// Order is a kind of Change.
type Order string

// The orders a user may give about a job.
const (
	Pin     Order = "pin"     // keep the job at exactly GPUs
	Unpin   Order = "unpin"   // sluice decides the size again
	Hold    Order = "hold"    // do not start the job (again) until released
	Release Order = "release" // take a hold back
	Save    Order = "save"    // save now, once, and train on
	Requeue Order = "requeue" // save now, stop, and wait again
)

// Once reports whether the order is carried out once, rather than to stand.
func (o Order) Once() bool { return o == Save || o == Requeue }

// Change is one order about one job.
type Change struct {
	Order Order `json:"order"`
	GPUs  int   `json:"gpus,omitempty"` // with Pin only: at least 1
	// Incarnation, unless 0, is that of the run which gives the order: one that was
	// replaced, as of the last report, gives none any more.
	Incarnation int `json:"incarnation,omitempty"`
}

// Validate reports what is wrong with the change by itself, without the job.
func (c Change) Validate() error {
	if c.Incarnation < 0 {
		return fmt.Errorf("incarnation %d: want at least 1, or 0 for whichever", c.Incarnation)
	}
	switch c.Order {
	case Pin:
		if c.GPUs < 1 || c.GPUs > maxGPUs {
			return fmt.Errorf("pin to %d GPUs: want 1 to %d", c.GPUs, maxGPUs)
		}
		return nil
	case Unpin, Hold, Release, Save, Requeue:
		if c.GPUs != 0 {
			return fmt.Errorf("order %q takes no GPUs", c.Order)
		}
		return nil
	}
	return fmt.Errorf("unknown order %q: want pin, unpin, hold, release, save or requeue", c.Order)
}

// maxGPUs is the largest size the job's comment can carry.
const maxGPUs = 1_000_000

// Apply returns the directive after the change.
func (c Change) Apply(d elastic.Directive) elastic.Directive {
	switch c.Order {
	case Pin:
		d.Pin = c.GPUs
	case Unpin:
		d.Pin = 0
	case Hold:
		d.Hold = true
	case Release:
		d.Hold = false
	}
	return d
}

// String is the change as a person would say it: "pin to 4 GPUs".
func (c Change) String() string {
	if c.Order == Pin {
		return fmt.Sprintf("pin to %d GPUs", c.GPUs)
	}
	return string(c.Order)
}
