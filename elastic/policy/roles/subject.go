package roles

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Role says what may be decided about a job.
type Role int

// The roles of a job.
const (
	Fixed   Role = iota // keeps what it has
	Waiting             // may be started
	Movable             // runs and may be resized
)

// Subject is a job with what every decision needs to know about it.
// The caller sets Job, At and Now BEFORE Classify, and keeps its results in Role and FixedBecause: Classify
// changes nothing. Pin, Work (Measure) and ResizeCost are the caller's too.
type Subject struct {
	elastic.Job
	At           nodes.Placement // where it is bound: its open move's target, else its place
	Now          int             // GPUs of At
	Role         Role
	FixedBecause reason.Reason // why it is fixed
	Pin          int           // size set by its user; 0 = none, or one that it does not accept
	Work         float64       // units of work left, estimated
	ResizeCost   float64       // seconds from the request to training again
}

// Least returns the size at which a waiting job is started.
func (j *Subject) Least() int {
	if j.Pin > 0 {
		return j.Pin
	}
	return j.Spec.Min
}

// HasGPUs reports whether the job has GPUs, or is bound to get some.
func (j *Subject) HasGPUs() bool { return j.Now > 0 }

// table decides the role of a job: the first rule that applies counts, so their ORDER matters.
// A fixed job has a reason.
var table = []struct {
	role Role
	when func(*elastic.Snapshot, *Subject) bool
	why  func(*elastic.Snapshot, *Subject) reason.Reason
}{
	// An open move is finished first; until then the job counts at its target.
	{Fixed, func(s *elastic.Snapshot, j *Subject) bool { _, moving := s.Intent(j.ID); return moving }, underWay},
	// Its user, or Slurm, keeps it from starting.
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.Phase == elastic.Waiting && j.Directive.Hold }, func(_ *elastic.Snapshot, j *Subject) reason.Reason {
		return reason.HeldByUser{Job: int64(j.ID)}
	}},
	{Waiting, func(_ *elastic.Snapshot, j *Subject) bool { return j.Phase == elastic.Waiting }, nil},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.Phase == elastic.Queued }, still(reason.Released)},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.Phase == elastic.Ended }, still(reason.Over)},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.Phase == elastic.Completing }, still(reason.CleaningUp)},
	// It runs and may not, or cannot, be changed.
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.Phase == elastic.Suspended }, keeps(reason.SuspendedJob)},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.UserHold || j.Directive.Hold }, keeps(reason.UserHolds)},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.MIG }, keeps(reason.OnMIG)},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return !j.Unread.IsZero() }, func(_ *elastic.Snapshot, j *Subject) reason.Reason {
		return reason.Keeps{GPUs: j.Now, Because: reason.FolderSilent{Since: j.Unread}}
	}},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return !j.Quiet.IsZero() }, func(_ *elastic.Snapshot, j *Subject) reason.Reason {
		return reason.Keeps{GPUs: j.Now, Because: reason.Quiet{Since: j.Quiet, Job: int64(j.ID)}}
	}},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return !j.RetryAt.IsZero() }, func(_ *elastic.Snapshot, j *Subject) reason.Reason {
		return reason.Keeps{GPUs: j.Now, Because: reason.Retry{At: j.RetryAt}}
	}},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return !j.Speaks }, staysUnproven},
	{Fixed, func(s *elastic.Snapshot, j *Subject) bool {
		return s.Limits.DeafAfter > 0 && j.Deaf >= s.Limits.DeafAfter
	}, func(_ *elastic.Snapshot, j *Subject) reason.Reason {
		return reason.Keeps{GPUs: j.Now, Because: reason.Deaf{Requests: j.Deaf}}
	}},
	{Fixed, func(_ *elastic.Snapshot, j *Subject) bool { return j.LosesCheckpoints() }, func(_ *elastic.Snapshot, j *Subject) reason.Reason {
		return reason.Keeps{GPUs: j.Now, Because: reason.Unusable{Checkpoints: j.Unusable, Job: int64(j.ID)}}
	}},
	{Movable, func(*elastic.Snapshot, *Subject) bool { return true }, nil},
}

// staysUnproven returns why a job without a checkpoint so far keeps its size.
func staysUnproven(_ *elastic.Snapshot, j *Subject) reason.Reason {
	if j.Spec.Fixed() {
		return reason.Keeps{GPUs: j.Now, Because: reason.FixedSize}
	}
	return reason.Keeps{GPUs: j.Now, Because: reason.Unproven}
}

// Classify returns the role of the job and, if it is Fixed, the reason.
// It always returns a role: the last rule of the table applies to every job. s is not changed.
func (j *Subject) Classify(s *elastic.Snapshot) (role Role, why reason.Reason) {
	for i := range table {
		if rule := &table[i]; rule.when(s, j) {
			if rule.why != nil {
				why = rule.why(s, j)
			}
			return rule.role, why
		}
	}
	return Movable, nil
}

// underWay returns the reason of a job with an open move.
func underWay(s *elastic.Snapshot, j *Subject) reason.Reason {
	in, _ := s.Intent(j.ID)
	if in.Kind == elastic.Start {
		return reason.BeingStarted{GPUs: j.Now, Because: in.Cause}
	}
	if in.Kind == elastic.Save {
		return reason.Keeps{GPUs: j.Now, Because: in.Cause}
	}
	if in.Lends(s) {
		return reason.Keeps{GPUs: j.Now, Because: reason.LentMeanwhile}
	}
	return reason.Moving{From: in.From.GPUs(), GPUs: j.Now, Because: in.Cause}
}

func still(why reason.Reason) func(*elastic.Snapshot, *Subject) reason.Reason {
	return func(*elastic.Snapshot, *Subject) reason.Reason { return why }
}

func keeps(why reason.Reason) func(*elastic.Snapshot, *Subject) reason.Reason {
	return func(_ *elastic.Snapshot, j *Subject) reason.Reason { return reason.Keeps{GPUs: j.Now, Because: why} }
}

// Beyond returns what p takes on each node beyond what q holds there.
// p of 4 on n1 and 2 on n2, beyond q of 1 on n1, is 3 on n1 and 2 on n2. It is nil if q covers p.
func Beyond(p, q nodes.Placement) nodes.Placement {
	var out nodes.Placement
	for _, share := range p {
		if more := share.GPUs - q.On(share.Node); more > 0 {
			out = append(out, nodes.Share{Node: share.Node, GPUs: more})
		}
	}
	return out
}

// MostDemands bounds how many pending ordinary jobs are considered in one round; the others
// follow when these have started.
const MostDemands = 100

// AwaitsCheckpoint reports whether the job runs, has a deadline, and may not be moved before
// its program has completed a checkpoint.
func (j *Subject) AwaitsCheckpoint() bool {
	return j.Unproven && !j.Speaks && j.Now > 0 && !j.Spec.Deadline.IsZero() && j.Phase == elastic.Running
}
