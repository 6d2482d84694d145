package track

import (
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// quietAfter is the time without a heartbeat after which a runner counts as quiet. A runner writes
// one every 10 s, but disks and machines may be slow. Slurm may take half an hour to notice
// that a job's processes are gone if its node rebooted quickly: it asks a node for its jobs at
// every 20th ping (ping_nodes.c), and pings every SlurmdTimeout/3.
const quietAfter = 3 * time.Minute

// retryAhead bounds how far ahead a runner may announce the next start of its script.
const retryAhead = 30 * time.Minute

// quiet is when the heartbeat of a run's runner last changed, by the daemon's clock, since the
// clocks of nodes may differ.
type quiet struct {
	run   time.Time // start of the run, from Slurm
	beat  time.Time // last heartbeat, by the node's clock; zero = none yet
	since time.Time // when the daemon first saw that heartbeat; zero = no heartbeat is expected
}

// noteBeat updates quiet from the runner's status. No heartbeat is expected of a job that Slurm
// does not run.
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

// quietSince returns since when there was no new heartbeat; zero = for less than quietAfter, or
// the job's folder does not answer.
func (m *mail) quietSince(now time.Time) time.Time {
	if since := m.quiet.since; m.silent.IsZero() && !since.IsZero() && now.Sub(since) >= quietAfter {
		return since
	}
	return time.Time{}
}

// retryAt returns when the runner will start the failed script again; zero = it announced none, or
// one more than retryAhead from now.
func (m *mail) retryAt(now time.Time) time.Time {
	if at := m.runner.word.RetryAt; at.After(now) && at.Before(now.Add(retryAhead)) {
		return at.In(now.Location())
	}
	return time.Time{}
}
