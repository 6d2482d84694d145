package slurm

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Accountant tells what Slurm's accounting (slurmdbd) keeps of jobs that slurmctld has
// forgotten. Implementations: command, fake.
type Accountant interface {
	// Past returns the runs of the jobs, in no order, less those that ended before since.
	// A job that accounting does not know has none, and no job has one where there is no
	// slurmdbd. Two queries for up to 10,000 jobs. What slurmctld has not yet told
	// slurmdbd is missing, or shows a run that has not ended.
	Past(ctx context.Context, ids []JobID, since time.Time) ([]PastRun, error)
}

// PastRun is one run of a job as accounting has it: from a submit or requeue to the next
// requeue, or to the end of the job.
type PastRun struct {
	ID JobID
	// UID is its user. 20.11 and 22.05 keep 0 for a run so short that slurmdbd heard of its
	// end before its start, and no Limit.
	UID uint32
	// State is how the run ended. One that is not final is of a run that a requeue ended, if
	// it has an End. NodeFail and Preempted may be followed by another run of the job.
	State  State
	Submit time.Time
	Start  time.Time     // zero when it never started; 20.11 has the End of such a run instead
	End    time.Time     // zero when it has not ended, or slurmdbd has not heard of it
	Limit  time.Duration // time limit; 0 = none, or unknown
	Nodes  []string      // none when it never started
	GPUs   int

	ExitCode, ExitSignal int
}

const (
	// PastGrain is how far Slurm's whole seconds, and the clocks of two machines, may differ.
	PastGrain = 2 * time.Second
	// requeueMost is how long the last run of a job that Slurm requeues may be cleaned away.
	requeueMost = time.Hour
)

// LastRun returns the run that a job of the user ended with, of all runs that accounting has
// under its number. known is the last time at which the job is known to have been in Slurm.
//
// The run of that time is the last one submitted by then, for a requeue counts as a submit.
// From there every requeue leads to the next run. What was submitted later otherwise is
// another job: slurmctld lost the first, and gave its number again.
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
		return PastRun{}, false // it was in Slurm after the last run that is there
	}
	for at+1 < len(runs) && requeued(runs[at], runs[at+1]) {
		at++
	}
	return runs[at], over(runs[at])
}

// over reports whether the run was, by itself, the end of its job.
func over(r PastRun) bool { return r.State.Ended() && !r.End.IsZero() }

// requeued reports whether next is the run after r of the same job. It is submitted when what
// was left of r has been cleaned away.
func requeued(r, next PastRun) bool {
	most := PastGrain
	if !r.State.Ended() || r.State == NodeFail || r.State == Preempted {
		most = requeueMost
	}
	gap := next.Submit.Sub(r.End)
	return !r.End.IsZero() && gap >= -PastGrain && gap <= most
}
