package command

import (
	"context"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// Cancel ends the job. Cancelling a job that has ended, or that Slurm does not know, is
// no error: scancel prints nothing then.
func (c *Client) Cancel(ctx context.Context, id slurm.JobID) error {
	return c.change(ctx, "scancel", id, "scancel", idArg(id))
}

// signalName is what scancel takes: a name without SIG, or a number.
var signalName = lazily(`^([A-Z][A-Z0-9+-]{1,11}|[1-9][0-9]?)$`)

// Signal sends the signal to the batch script only if batchOnly is set, else to the job's
// steps. For a job that has ended the error is ErrNotFound. A pending job is not changed,
// but scancel retries for about a minute; the call is cut off before that, with
// ErrUnknownOutcome.
func (c *Client) Signal(ctx context.Context, id slurm.JobID, signal string, batchOnly bool) error {
	op := "scancel --signal"
	name := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	if !signalName().MatchString(name) {
		return &slurm.Error{Op: op, JobID: id, Err: slurm.ErrRefused, Words: "no signal is called " + clean(shorten(signal)),
			Hint: "name it as kill -l does, for example USR1"}
	}
	args := []string{"--signal=" + name, idArg(id)}
	if batchOnly {
		args = []string{"--batch", "--signal=" + name, idArg(id)}
	}
	return c.change(ctx, op, id, "scancel", args...)
}
