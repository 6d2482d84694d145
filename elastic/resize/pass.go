package resize

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// slurmctld runs its scheduler at most every batch_sched_delay (3 s by default), and
// only when something asked for it. The pass that a release asks for may come before the
// job's begin time, which is a second ahead (Write); the job is then skipped, and the next
// to look at it is the backfill, every 30 s by default. So a job that still waits once its
// begin time has come asks for another pass.

// firstPass is from the release to the first request: the release itself asked, and a
// second later either that pass came or it is still due.
const firstPass = time.Second

// nextPass is the least time from one request to the next. The time doubles, so that a
// move makes log2(Limits.Confirm / firstPass) requests at most: 5 in a minute.
const nextPass = 3 * time.Second

// startable are Slurm's reasons for a job that it could start at its next pass if the
// GPUs are free. Any other names something that a pass does not change.
var startable = map[string]bool{"": true, "None": true, "BeginTime": true, "Priority": true, "Resources": true}

// missedPass: released, nothing is in the way of its start, and Slurm has not looked.
func missedPass(s situation) bool {
	if s.job.Phase != elastic.Queued || s.job.Eligible.After(s.now) || !startable[s.job.Reason] || targetTaken(s) {
		return false
	}
	if s.job.PassAsked.Before(s.in.ReleasedAt) { // none for this release
		return lateBy(s, firstPass)
	}
	return s.now.Sub(s.job.PassAsked) >= max(nextPass, s.job.PassAsked.Sub(s.in.ReleasedAt))
}

func requestPass(s situation) Next {
	return Next{Intent: s.in, Why: reason.PassAsked, Do: []elastic.Action{elastic.RequestPass{Job: s.in.Job}}}
}
