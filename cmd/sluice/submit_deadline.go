package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

const (
	// admissionWait bounds how long submit waits for sluiced's judgement of the job's
	// deadline.
	admissionWait = 10 * time.Second
	// admissionPoll is the interval of its queries.
	admissionPoll = 250 * time.Millisecond
)

// reportAdmission prints, as soon as sluiced has judged the job, whether its deadline is
// admitted, or else its earliest possible end. In any case the job is submitted.
func (s *submission) reportAdmission(ctx context.Context, id slurm.JobID) {
	ctx, stop := context.WithTimeout(ctx, admissionWait)
	defer stop()
	daemon, err := reach.Dial(s.site)
	for err == nil && ctx.Err() == nil {
		if e, err := daemon.Explain(ctx, elastic.JobID(id)); err == nil && e.Job.Reason != "" {
			fmt.Fprintf(s.errs, "sluice: job %d: %s\n", id, admissionLine(e))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(admissionPoll): // not judged yet
		}
	}
	terminal.Warn(s.errs, fmt.Sprintf("job %d: its deadline has not been judged yet; see 'sluice explain %d'", id, id))
}

// admissionLine is the judgement of a deadline and what to do about it.
func admissionLine(e wire.Explanation) string {
	line := deadlineLine(e)
	if e.Promises && !e.Job.Promised && !e.Job.Soft && !e.Job.Ends.IsZero() {
		line += fmt.Sprintf("; the job waits until it can be met ('sluice cancel %d' cancels it; with --deadline-mode=soft it would run in any case)", e.Job.JobID)
	}
	return line
}

// deadlineLine is a job's deadline and its judgement; "" if it has none.
func deadlineLine(e wire.Explanation) string {
	j := e.Job
	if j.Deadline.IsZero() {
		return ""
	}
	line := "deadline " + present.When(j.Deadline)
	switch {
	case j.Ended && !j.EndedAt.IsZero() && !j.EndedAt.After(j.Deadline):
		return line + fmt.Sprintf(": it ended %s before", terminal.Clock(j.Deadline.Sub(j.EndedAt)))
	case j.Ended:
		return line + fmt.Sprintf(": it ended %s after", terminal.Clock(j.EndedAt.Sub(j.Deadline)))
	case !e.Promises:
		return line + fmt.Sprintf(": the site's policy, %s, does not admit deadlines", e.Policy)
	case j.Promised && j.Ends.IsZero(): // it is being resized
		return line + ", admitted"
	case j.Promised:
		return line + fmt.Sprintf(", admitted: it ends by %s, %s before", present.When(j.Ends), terminal.Clock(j.Deadline.Sub(j.Ends)))
	}
	switch elastic.Due(j.Due) {
	case elastic.DueUnknown:
		return line + ": cannot be admitted: its speed is not known yet"
	case elastic.DuePassed:
		return line + " has passed: it is treated as a job without one"
	case elastic.DueUnmet:
		if j.Ends.IsZero() {
			return line + " cannot be met, and its end cannot be predicted"
		}
		return line + fmt.Sprintf(" cannot be met; earliest possible end: %s", present.When(j.Ends))
	}
	return line + ": not admitted; judged again when the job can be started or moved"
}
