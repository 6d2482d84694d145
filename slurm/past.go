package slurm

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Accountant reports what Slurm's accounting (slurmdbd) keeps of jobs that slurmctld no
// longer remembers. Implementations: command, fake.
type Accountant interface {
	// Past returns the runs of the jobs, in no order, without those that ended before
	// since. A job that accounting does not know has no runs, and without slurmdbd no job
	// has any. It takes two queries for up to 10,000 jobs. What slurmctld has not yet
	// sent to slurmdbd is missing, or shows as a run that has not ended.
	Past(ctx context.Context, ids []JobID, since time.Time) ([]PastRun, error)
}

// PastRun is one run of a job as accounting keeps it: from a submit or requeue to the
// next requeue, or to the end of the job.
type PastRun struct {
	ID JobID
	// UID is the job's user. 20.11 and 22.05 keep UID 0 and no Limit for a run so short
	// that slurmdbd got its end before its start.
	UID uint32
	// State is how the run ended. If it is not final and End is set, a requeue ended the
	// run. After NodeFail and Preempted the job may have another run.
	State  State
	Submit time.Time
	Start  time.Time     // zero when it never started; 20.11 has the End of such a run instead
	End    time.Time     // zero when it has not ended, or slurmdbd has not got its end
	Limit  time.Duration // time limit; 0 = none, or unknown
	Nodes  []string      // empty when it never started
	GPUs   int

	ExitCode, ExitSignal int
}

const (
	// PastGrain bounds the error of Slurm's whole seconds and of the clocks of two
	// machines.
	PastGrain = 2 * time.Second
	// requeueMost bounds the clean-up of the last run of a job that Slurm requeues.
	requeueMost = time.Hour
)

// LastRun returns the last run of a job of the user, from all runs that accounting has
// under its number. known is the last time at which the job is known to have been in
// Slurm.
//
// The run at that time is the last one submitted by then, for a requeue counts as a
// submit. From there every requeue leads to the next run. A later submit that is not a
// requeue is another job: slurmctld lost the first and gave its number again.
func LastRun(runs []PastRun, uid uint32, known time.Time) (PastRun, bool) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r PastRun) bool {
		return r.UID != uid && r.UID != 0 // see PastRun
	})
	slices.SortStableFunc(runs, func(a, b PastRun) int {
		return cmp.Or(a.Submit.Compare(b.Submit), a.Start.Compare(b.Start))
	})
	at := -1
	for i, r := range runs {
		if !r.Submit.After(known.Add(PastGrain)) {
			at = i
		}
	}
	if at < 0 || over(runs[at]) && runs[at].End.Before(known.Add(-PastGrain)) {
		return PastRun{}, false // it was in Slurm after the last run listed
	}
	for at+1 < len(runs) && requeued(runs[at], runs[at+1]) {
		at++
	}
	return runs[at], over(runs[at])
}

// over reports whether the run ended its job without a requeue.
func over(r PastRun) bool { return r.State.Ended() && !r.End.IsZero() }

// requeued reports whether next is the run after r of the same job: it is submitted when
// r has been cleaned up.
func requeued(r, next PastRun) bool {
	most := PastGrain
	if !r.State.Ended() || r.State == NodeFail || r.State == Preempted {
		most = requeueMost
	}
	gap := next.Submit.Sub(r.End)
	return !r.End.IsZero() && gap >= -PastGrain && gap <= most
}
