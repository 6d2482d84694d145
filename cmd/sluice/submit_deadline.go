package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

const (
	// foresight is how long the user is kept waiting for a word on the job's deadline.
	foresight = 10 * time.Second
	// foreseen is how often it is looked for.
	foreseen = 250 * time.Millisecond
)

// foretell says, as soon as sluiced has looked at the job, whether it will end by its
// deadline, or else when it could. Whatever comes of that: the job is submitted.
func (s *submission) foretell(ctx context.Context, id slurm.JobID) {
	ctx, stop := context.WithTimeout(ctx, foresight)
	defer stop()
	daemon, err := dial(s.site)
	for err == nil && ctx.Err() == nil {
		if e, err := daemon.Explain(ctx, elastic.JobID(id)); err == nil && e.Job.Reason != "" {
			fmt.Fprintf(s.errs, "sluice: job %d: %s\n", id, foretold(e))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(foreseen): // not known yet
		}
	}
	terminal.Warn(s.errs, fmt.Sprintf("job %d: no word on its deadline yet; see 'sluice explain %d'", id, id))
}

// foretold is the word on a deadline and what to do about it.
func foretold(e wire.Explanation) string {
	line := deadlineLine(e)
	if e.Promises && !e.Job.Promised && !e.Job.Soft && !e.Job.Ends.IsZero() {
		line += fmt.Sprintf("; it waits until it can be met. 'sluice cancel %d' takes it back, and with --deadline-mode=soft it would run as well as it can", e.Job.JobID)
	}
	return line
}

// deadlineLine is a job's deadline and what is foreseen of it; "" when it has none.
func deadlineLine(e wire.Explanation) string {
	j := e.Job
	if j.Deadline.IsZero() {
		return ""
	}
	line := "deadline " + when(j.Deadline)
	switch {
	case j.Ended && !j.EndedAt.IsZero() && !j.EndedAt.After(j.Deadline):
		return line + fmt.Sprintf(": it ended %s before", terminal.Clock(j.Deadline.Sub(j.EndedAt)))
	case j.Ended:
		return line + fmt.Sprintf(": it ended %s after", terminal.Clock(j.EndedAt.Sub(j.Deadline)))
	case !e.Promises:
		return line + fmt.Sprintf(": the site's policy, %s, promises no deadlines", e.Policy)
	case j.Promised && j.Ends.IsZero(): // it is between two sizes
		return line + ", promised"
	case j.Promised:
		return line + fmt.Sprintf(", promised: it ends by %s, %s before", when(j.Ends), terminal.Clock(j.Deadline.Sub(j.Ends)))
	}
	switch elastic.Due(j.Due) {
	case elastic.DueUnknown:
		return line + ": cannot be promised: its speed is not known yet"
	case elastic.DuePassed:
		return line + " has passed: it counts as a job without one"
	case elastic.DueUnmet:
		if j.Ends.IsZero() {
			return line + " cannot be met, and no possible end is known"
		}
		return line + fmt.Sprintf(" cannot be met: the earliest it could end is %s", when(j.Ends))
	}
	return line + ": not promised; it is judged when the job can be started or moved"
}
