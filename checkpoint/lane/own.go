package lane

import (
	"fmt"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// A trial that is a job of its own (sweep.OwnJobs) is resized as that job. So what it reports is the
// job's progress, from which sluiced learns its speed, and a request to the job is one to the trial.
// A lane that accepts several sizes reports the epochs of its trials, one after the other.

// passOn adds a line of the trial's progress to the job's own log.
func (t *trial) passOn(p checkpoint.Progress) {
	switch {
	case t.sweep.OwnJobs:
		t.work = max(p.Done, 0)
	case !t.Elastic:
		return
	default:
		if p.Event == "hello" || p.Event == "finished" {
			return
		}
		if !t.counts || p.Done < t.from {
			t.counts, t.before, t.from = true, t.work, p.Done
			if t.tell.Start == 1 {
				t.from = 0
			}
		}
		t.work = t.before + p.Done - t.from
		p.Done, p.Epoch, p.Step, p.Metric = t.work, t.work, 0, nil
		if p.Event == "resumed" {
			return
		}
	}
	p.Restarts = t.restarts
	if err := t.log(p); err != nil {
		fmt.Fprintf(t.Stderr, "sluice: trial %d: its progress could not be passed on: %v\n", t.tell.Trial, err)
	}
}

// patient reports whether the trial may go on if it does not save in time: its job was asked, and
// is not resized then. sluiced asks a job that has reported, whether or not its program says hello: it
// may load for minutes first, or never ask whether it is to save.
func (t *trial) patient() bool { return t.sweep.OwnJobs && t.for_ != nil && !t.for_.Continue }
