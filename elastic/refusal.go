package elastic

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Slurm may refuse a size for a reason that sluice cannot see: a plugin of the site, disks or
// licenses that a job requests. If it were requested again at once it would be refused again
// and again. So each refusal in a row doubles the wait for the next try. That is made at the
// job's smallest size and on other nodes, because either may be the reason.

// How long after the first refusal a waiting job is tried again, and the maximum wait while
// GPUs are idle. Where others have to be stopped for each try, and to give back what is then
// refused, the maximum is stopsMost. The same for a running job, which every try stops.
const (
	startAgain, startAgainMost = 15 * time.Second, 10 * time.Minute
	resizeAgain, stopsMost     = 10 * time.Minute, 2 * time.Hour
)

// lapses is how long other nodes and the smallest size are preferred once the job is due; after
// that, the refused size and nodes are tried again.
const lapses = 10 * time.Minute

// Refusals are the refusals in a row of one kind of move of a job. The zero value is none.
type Refusals struct {
	Times       int
	First, Last time.Time
	Why         reason.Reason   // reason of the last one
	At          nodes.Placement // place of the last one
	Nodes       []string        // refused nodes, until none is left to try
}

// And returns the refusals with one more.
func (r Refusals) And(at nodes.Placement, why reason.Reason, now time.Time) Refusals {
	r = r.AndNoNodes(at, why, now)
	tried := func(node string) bool { return slices.Contains(r.Nodes, node) }
	if slices.ContainsFunc(at.Nodes(), tried) {
		r.Nodes = nil // there were no others: start from the beginning
	}
	r.Nodes = slices.Concat(r.Nodes, at.Nodes())
	return r
}

// AndNoNodes returns the refusals with one more that no node caused.
func (r Refusals) AndNoNodes(at nodes.Placement, why reason.Reason, now time.Time) Refusals {
	if r.Times == 0 {
		r.First = now
	}
	r.Times, r.Last, r.Why, r.At = r.Times+1, now, why, at
	return r
}

// again returns when the next try is due; zero if there was no refusal.
func (r Refusals) again(first, most time.Duration) time.Time {
	if r.Times == 0 {
		return time.Time{}
	}
	const doublings = 10 // enough to get from any first to its maximum
	return r.Last.Add(min(first<<min(r.Times-1, doublings), most))
}

// Refused is what Slurm refused a job lately.
type Refused struct {
	// Start is for a waiting job; it is cleared as soon as the job runs. Idle says that at
	// least as many GPUs as it needs are idle in its partitions.
	Start Refusals
	Idle  bool
	// Obstacle is for a waiting job too: Slurm would start it at no size and on no nodes.
	Obstacle Refusals
	// Resize is for a running job, and From its place at the time.
	Resize Refusals
	From   nodes.Placement
}

// StartAgain returns when a waiting job is tried again; zero = at once.
func (r Refused) StartAgain() time.Time {
	if r.Idle {
		return r.Start.again(startAgain, startAgainMost)
	}
	return r.Start.again(startAgain, stopsMost)
}

// ResizeAgain returns when a running job may get more GPUs or move again; zero = at once.
func (r Refused) ResizeAgain() time.Time { return r.Resize.again(resizeAgain, stopsMost) }

// careful reports whether the next start is tried at the smallest size and on other nodes.
func (r Refused) careful(now time.Time) bool {
	return r.Start.Times > 0 && now.Before(r.StartAgain().Add(lapses))
}

// Shuns returns the nodes that are tried last at now.
func (r Refused) Shuns(now time.Time) []string {
	if !r.careful(now) {
		return nil
	}
	return r.Start.Nodes
}

// RefusedCap returns the limit on the job's size at now that follows from Slurm's refusals;
// false if there is none.
func (j Job) RefusedCap(now time.Time) (Cap, bool) {
	r, c := j.Refused, Cap{Of: GPUs, Each: true, Jobs: map[JobID]bool{j.ID: true}}
	switch {
	case j.Phase == Waiting && now.Before(r.StartAgain()):
		c.Why, c.Of = reason.SlurmTakes{Refusal: r.Start.reason()}, Jobs
	case j.Phase == Waiting && r.careful(now):
		c.Why, c.Most = reason.SmallestFirst, max(j.Spec.Min, j.Directive.Pin)
	case now.Before(r.ResizeAgain()):
		c.Why, c.Most = reason.SlurmTakes{Refusal: r.Resize.until(r.ResizeAgain(), j.ID)}, r.From.GPUs()
	default:
		return Cap{}, false
	}
	return c, true
}

// reason returns what was refused.
func (r Refusals) reason() reason.Reason {
	return reason.Refusal{At: r.At, Last: r.Last, Because: r.Why, Times: r.Times, First: r.First}
}

// until returns the refusals as a reason, with the time of the next try.
func (r Refusals) until(again time.Time, id JobID) reason.Reason {
	return reason.Again{Refusal: r.reason(), At: again, Job: int64(id)}
}

// NotStarted returns why a waiting job is not started before StartAgain.
func (j *Job) NotStarted() reason.Reason {
	r := j.Refused
	why := reason.NotStarted{Again: r.Start.until(r.StartAgain(), j.ID), Job: int64(j.ID)}
	if idle := r.Start.again(startAgain, startAgainMost); idle.Before(r.StartAgain()) {
		why.Idle = idle
	}
	return why
}

// NotMoved returns why a running job neither grows nor moves before ResizeAgain.
func (j *Job) NotMoved() reason.Reason {
	return reason.NotMoved{Again: j.Refused.Resize.until(j.Refused.ResizeAgain(), j.ID)}
}
