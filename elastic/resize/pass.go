package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// slurmctld runs its scheduler at most once per batch_sched_delay (3 s by default), and only on
// request. The pass that a release requests may come before the job's begin time, which is one
// second in the future (Write). The job is then skipped, and is considered again only by
// backfill, every 30 s by default. So for a job that still waits after its begin time another
// pass is requested.

// firstPass is the time from the release to the first request. The release itself requested a
// pass; one second later that pass has happened or is still due.
const firstPass = time.Second

// nextPass is the least time from one request to the next. It doubles, so that a move makes at
// most log2(Limits.Confirm / firstPass) requests: 5 in a minute.
const nextPass = 3 * time.Second

// startable are Slurm's reasons for a job that it could start at its next pass if the GPUs are
// free. Other reasons are not changed by a pass.
var startable = map[string]bool{"": true, "None": true, "BeginTime": true, "Priority": true, "Resources": true}

// missedPass: released, nothing blocks its start, and Slurm has not considered it.
func missedPass(s situation) bool {
	if s.job.Phase != elastic.Queued || s.job.Eligible.After(s.now) || !startable[s.job.Reason] || targetTaken(s) {
		return false
	}
	if s.job.PassAsked.Before(s.in.ReleasedAt) { // no request since this release
		return lateBy(s, firstPass)
	}
	return s.now.Sub(s.job.PassAsked) >= max(nextPass, s.job.PassAsked.Sub(s.in.ReleasedAt))
}

func requestPass(s situation) Next {
	return Next{Intent: s.in, Why: reason.PassAsked, Do: []elastic.Action{elastic.RequestPass{Job: s.in.Job}}}
}
