package track

import (
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// quietAfter is after how long without a sign of life a runner counts as quiet. It gives one
// every ten seconds; disks and machines may be slow. Slurm may take half an hour to
// notice that a job is gone whose node returned at once: it asks a node for what runs there at
// every twentieth ping (ping_nodes.c), and pings every SlurmdTimeout/3.
const quietAfter = 3 * time.Minute

// retryAhead bounds how far ahead a job may say that it is started again.
const retryAhead = 30 * time.Minute

// quiet is when the word of a run's runner last changed, by the daemon's clock: clocks of nodes
// differ.
type quiet struct {
	run   time.Time // its start, as Slurm has it
	beat  time.Time // of the word; zero while there is none
	since time.Time // when that was first seen; zero = there is nothing to be heard
}

// noteBeat notes a sign of life. A job that Slurm does not run gives none; one that it runs
// and whose runner has ended gives none any more.
func (js *Job) noteBeat(now time.Time) {
	next := quiet{run: js.Shown.Slurm.Start, since: now}
	if js.Mail.runner.ok {
		next.beat = js.Mail.runner.word.Beat
	}
	switch was := js.Mail.quiet; {
	case js.Shown.Slurm.State != slurm.Running || js.Shown.Slurm.Completing:
		js.Mail.quiet = quiet{}
	case was.since.IsZero() || !was.run.Equal(next.run) || !was.beat.Equal(next.beat):
		js.Mail.quiet = next
	}
}

// quietSince is since when nothing has been heard of the job; zero where that is not for long.
// One whose folder does not answer cannot be heard.
func (m *mail) quietSince(now time.Time) time.Time {
	if since := m.quiet.since; m.silent.IsZero() && !since.IsZero() && now.Sub(since) >= quietAfter {
		return since
	}
	return time.Time{}
}

// retryAt is when the job's script is started again after it failed; zero where it is not
// waited for.
func (m *mail) retryAt(now time.Time) time.Time {
	if at := m.runner.word.RetryAt; at.After(now) && at.Before(now.Add(retryAhead)) {
		return at.In(now.Location())
	}
	return time.Time{}
}
