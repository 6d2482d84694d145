package elastic

import (
	"fmt"
	"slices"
	"time"

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
	Why         string          // Slurm's last word
	At          nodes.Placement // refused last
	Nodes       []string        // of those refused, until none is left to try
}

// And is the refusals with one more.
func (r Refusals) And(at nodes.Placement, why string, now time.Time) Refusals {
	r = r.AndNoNodes(at, why, now)
	tried := func(node string) bool { return slices.Contains(r.Nodes, node) }
	if slices.ContainsFunc(at.Nodes(), tried) {
		r.Nodes = nil // there were no others: from the beginning
	}
	r.Nodes = slices.Concat(r.Nodes, at.Nodes())
	return r
}

// AndNoNodes is the refusals with one more, for which no node is to blame.
func (r Refusals) AndNoNodes(at nodes.Placement, why string, now time.Time) Refusals {
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
		c.Name, c.Of = "what Slurm takes: "+r.Start.words(), Jobs
	case j.Phase == Held && r.careful(now):
		c.Name, c.Most = "its smallest size, which is tried first after refusals", max(j.Spec.Min, j.Directive.Pin)
	case now.Before(r.ResizeAgain()):
		c.Name, c.Most = fmt.Sprintf("what Slurm takes: %s", r.Resize.until(r.ResizeAgain(), j.ID)), r.From.GPUs()
	default:
		return Cap{}, false
	}
	return c, true
}

// words say what was refused, for people.
func (r Refusals) words() string {
	since := ""
	if r.Times > 1 {
		since = fmt.Sprintf(", for the %s time since %s", ordinal(r.Times), clock(r.First))
	}
	return fmt.Sprintf("%s was refused at %s (%s)%s", r.At, clock(r.Last), r.Why, since)
}

// until says when it is tried again, too.
func (r Refusals) until(again time.Time, id JobID) string {
	return fmt.Sprintf("%s; tried again from %s, or once it is told sluice release %d", r.words(), clock(again), id)
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }

func ordinal(n int) string {
	if n%100/10 != 1 && n%10 > 0 && n%10 < 4 {
		return fmt.Sprintf("%d%s", n, []string{"st", "nd", "rd"}[n%10-1])
	}
	return fmt.Sprintf("%dth", n)
}

// The verdicts of Reconcile that follow.

func startRefused(d *docket, j *Job, _ nodes.Placement) bool {
	return j.Phase == Held && d.s.Now.Before(j.Refused.StartAgain())
}

func waitsForSlurm(_ *docket, j *Job, _ nodes.Placement, _ string) (*Intent, string) {
	r := j.Refused
	sooner := ""
	if idle := r.Start.again(startAgain, startAgainMost); idle.Before(r.StartAgain()) {
		sooner = fmt.Sprintf(" (from %s where GPUs are idle)", clock(idle))
	}
	return nil, fmt.Sprintf("Slurm does not start it: %s%s; scontrol show job %d tells what it asks for", r.Start.until(r.StartAgain(), j.ID), sooner, j.ID)
}

// resizeRefused: what gives GPUs back is never kept from it.
func resizeRefused(d *docket, j *Job, t nodes.Placement) bool {
	return j.Phase == Running && d.s.Now.Before(j.Refused.ResizeAgain()) && len(t) > 0 && t.GPUs() >= j.GPUs()
}

func staysForSlurm(_ *docket, j *Job, _ nodes.Placement, _ string) (*Intent, string) {
	return nil, fmt.Sprintf("would move, but %s", j.Refused.Resize.until(j.Refused.ResizeAgain(), j.ID))
}
