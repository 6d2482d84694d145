package elastic

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Slurm may refuse a size for a reason that sluice cannot see: a plugin of the site's, disks
// or licences that a job asks for. Asked for at once again it would be refused again, all
// day. So each refusal in a row doubles the wait for the next try, which is made on the
// job's smallest size and on other nodes, for either may be the reason.

// How long after the first refusal a job that waits is tried again, and how long at most,
// where GPUs are idle; where others have to be stopped for each try, and give back what is
// then refused, at most stopsMost. The same for a running job, which every try stops.
const (
	startAgain, startAgainMost = 15 * time.Second, 10 * time.Minute
	resizeAgain, stopsMost     = 10 * time.Minute, 2 * time.Hour
)

// lapses is how long other nodes and the smallest size are waited for, once the job is due:
// then what was refused is tried as it was.
const lapses = 10 * time.Minute

// Refusals are those in a row that a job met with in one kind of move. The zero value is
// none.
type Refusals struct {
	Times       int
	First, Last time.Time
	Why         reason.Reason   // the last of them
	At          nodes.Placement // refused last
	Nodes       []string        // of those refused, until none is left to try
}

// And is the refusals with one more.
func (r Refusals) And(at nodes.Placement, why reason.Reason, now time.Time) Refusals {
	r = r.AndNoNodes(at, why, now)
	tried := func(node string) bool { return slices.Contains(r.Nodes, node) }
	if slices.ContainsFunc(at.Nodes(), tried) {
		r.Nodes = nil // there were no others: from the beginning
	}
	r.Nodes = slices.Concat(r.Nodes, at.Nodes())
	return r
}

// AndNoNodes is the refusals with one more, for which no node is to blame.
func (r Refusals) AndNoNodes(at nodes.Placement, why reason.Reason, now time.Time) Refusals {
	if r.Times == 0 {
		r.First = now
	}
	r.Times, r.Last, r.Why, r.At = r.Times+1, now, why, at
	return r
}

// again is when the next try is due; zero where there was no refusal.
func (r Refusals) again(first, most time.Duration) time.Time {
	if r.Times == 0 {
		return time.Time{}
	}
	const doublings = 10 // more than from any first to its most
	return r.Last.Add(min(first<<min(r.Times-1, doublings), most))
}

// Refused is what Slurm refused a job lately.
type Refused struct {
	// Start is of a job that waits: it is over as soon as the job runs. Idle says that as
	// many GPUs as it needs at least are idle in its partitions.
	Start Refusals
	Idle  bool
	// Obstacle is of one that waits, too: Slurm would start it on no size and no nodes.
	Obstacle Refusals
	// Resize is of one that runs, and From what it had then.
	Resize Refusals
	From   nodes.Placement
}

// StartAgain is when a job that waits is tried again; zero = at once.
func (r Refused) StartAgain() time.Time {
	if r.Idle {
		return r.Start.again(startAgain, startAgainMost)
	}
	return r.Start.again(startAgain, stopsMost)
}

// ResizeAgain is when a job that runs may be given more again, or moved; zero = at once.
func (r Refused) ResizeAgain() time.Time { return r.Resize.again(resizeAgain, stopsMost) }

// careful: the next start is tried on the smallest size and on other nodes.
func (r Refused) careful(now time.Time) bool {
	return r.Start.Times > 0 && now.Before(r.StartAgain().Add(lapses))
}

// Shuns lists the nodes that are tried last, now.
func (r Refused) Shuns(now time.Time) []string {
	if !r.careful(now) {
		return nil
	}
	return r.Start.Nodes
}

// RefusedCap is how much the job may be given now, for what Slurm refused it.
func (j Job) RefusedCap(now time.Time) (Cap, bool) {
	r, c := j.Refused, Cap{Of: GPUs, Each: true, Jobs: map[JobID]bool{j.ID: true}}
	switch {
	case j.Phase == Held && now.Before(r.StartAgain()):
		c.Why, c.Of = reason.SlurmTakes{Refusal: r.Start.reason()}, Jobs
	case j.Phase == Held && r.careful(now):
		c.Why, c.Most = reason.SmallestFirst, max(j.Spec.Min, j.Directive.Pin)
	case now.Before(r.ResizeAgain()):
		c.Why, c.Most = reason.SlurmTakes{Refusal: r.Resize.until(r.ResizeAgain(), j.ID)}, r.From.GPUs()
	default:
		return Cap{}, false
	}
	return c, true
}

// reason is what was refused.
func (r Refusals) reason() reason.Reason {
	return reason.Refusal{At: r.At, Last: r.Last, Because: r.Why, Times: r.Times, First: r.First}
}

// until says when it is tried again, too.
func (r Refusals) until(again time.Time, id JobID) reason.Reason {
	return reason.Again{Refusal: r.reason(), At: again, Job: int64(id)}
}

// NotStarted is why a job that waits is not started before StartAgain.
func (j *Job) NotStarted() reason.Reason {
	r := j.Refused
	why := reason.NotStarted{Again: r.Start.until(r.StartAgain(), j.ID), Job: int64(j.ID)}
	if idle := r.Start.again(startAgain, startAgainMost); idle.Before(r.StartAgain()) {
		why.Idle = idle
	}
	return why
}

// NotMoved is why a job that runs is neither given more nor moved before ResizeAgain.
func (j *Job) NotMoved() reason.Reason {
	return reason.NotMoved{Again: j.Refused.Resize.until(j.Refused.ResizeAgain(), j.ID)}
}
