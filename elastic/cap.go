package elastic

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Resource is what a Cap counts.
type Resource string

// The resources that a move of a job changes.
const (
	GPUs     Resource = "GPUs"
	CPUs     Resource = "CPUs"
	Nodes    Resource = "nodes"
	MemoryMB Resource = "MB of memory"
	Billing  Resource = "billing"
	Jobs     Resource = "jobs" // that run
)

// Cap is one limit of the site on some of sluice's jobs. Slurm does not start a job
// beyond one, whoever wrote its size; a job that runs it leaves alone, even when the
// limit is lowered below what it has. So a cap is about what a job is started on, or
// started again on: no move is planned to where Slurm would leave the job pending,
// and no job is moved because of a cap alone.
type Cap struct {
	Name string // for people: "GrpTRES=gres/gpu=2 of account phys"
	// Why it is one, where it is no limit of Slurm's; else nil.
	Why  reason.Reason
	Of   Resource
	Type string // GPUs of this type alone; "" = of any
	Most int    // at least 0
	// Each: every job alone has to keep within it, else all of Jobs and Others
	// together. Node, beside Each: every node of every job alone. Least: it is the
	// least that each job must have.
	Each, Node, Least bool
	// Minutes: what is counted is the resource times the minutes that the job's time
	// limit leaves it; a job that is started again has all of it before it.
	Minutes bool
	// Jobs are those it concerns.
	Jobs map[JobID]bool
	// Others is what runs in the same group and is not decided about, and Users who
	// has that.
	Others int
	Users  []reason.Use
	// Bills are, of a cap of Billing, what it counts by partition; one that is not among
	// them counts CPUs.
	Bills map[string]Bill
	// Throttle: it is the %N of a job array.
	Throttle bool
	// MaxTime, when not 0, is the longest time limit of Partition: a job that asks for
	// more never starts.
	MaxTime   time.Duration
	Partition string
}

// Shared reports whether its jobs and the others have to keep within it together.
func (c Cap) Shared() bool { return !c.Each && !c.Least }

// Use is how much of the cap the job takes at a place, started there anew.
func (c Cap) Use(j *Job, at nodes.Placement, s *Snapshot) int {
	return times(c.amount(j, at, s), c.minutes(j.TimeLimit))
}

// amount is how much of the resource the job takes at a place.
func (c Cap) amount(j *Job, at nodes.Placement, s *Snapshot) int {
	if c.Of == Billing {
		return c.bill(j, at, s)
	}
	if c.Of != GPUs || c.Type == "" {
		sum, most := 0, 0
		for _, share := range at {
			sum, most = sum+share.GPUs, max(most, share.GPUs)
		}
		return c.of(j, sum, len(at), most)
	}
	sum, most := 0, 0
	for _, share := range at {
		if s.typed(j, share.Node, c.Type) {
			sum, most = sum+share.GPUs, max(most, share.GPUs)
		}
	}
	if c.Node {
		return most
	}
	return sum
}

// Takes is how much of the cap the job takes when it is started on so many GPUs, on so
// many nodes, at most so many of them on one.
func (c Cap) Takes(j *Job, gpus, nodes, most int) int {
	return times(c.of(j, gpus, nodes, most), c.minutes(j.TimeLimit))
}

func (c Cap) of(j *Job, gpus, nodes, most int) int {
	if c.Node {
		gpus, nodes = most, min(nodes, 1)
	}
	if gpus < 1 {
		return 0
	}
	cpus, mb := needs(j, gpus, nodes)
	switch c.Of {
	case GPUs:
		return gpus
	case CPUs:
		return cpus
	case Nodes:
		return nodes
	case MemoryMB:
		return mb
	case Billing:
		return c.billed(j, size{gpus, nodes, cpus, mb, c.anyType(j, gpus)})
	}
	return 1
}

// needs is how many CPUs and megabytes of memory the job takes on so many GPUs and nodes.
func needs(j *Job, gpus, nodes int) (cpus, mb int) {
	cpus = max(nodes, j.Spec.CPUsPerGPU*gpus)
	if j.Spec.MemPerGPUMB > 0 {
		return cpus, int(j.Spec.MemPerGPUMB) * gpus
	}
	return cpus, max(int(j.Memory.PerNodeMB)*nodes, int(j.Memory.PerCPUMB)*cpus, int(j.Memory.PerGPUMB)*gpus)
}

// unlimited is the minutes of a job without a time limit: more than any cap has.
const unlimited = 1 << 32

// minutes is what the amount is multiplied with for a job that may take so long; 0 is
// for ever.
func (c Cap) minutes(limit time.Duration) int {
	switch {
	case !c.Minutes:
		return 1
	case limit <= 0:
		return unlimited
	}
	return int((limit + time.Minute - 1) / time.Minute)
}

// mostUse is where what one job takes ends, so that sums of many are numbers still.
const mostUse = 1 << 48

func times(n, minutes int) int {
	if n > 0 && minutes > mostUse/n {
		return mostUse
	}
	return n * minutes
}

// Over is what so much of the resource counts for, had by a job that runs and has so
// much left of its time limit; 0 as the limit is none.
func (c Cap) Over(n int, left, limit time.Duration) int {
	if limit > 0 {
		left = max(left, time.Nanosecond) // beyond its limit, it is about to end
	}
	return times(n, c.minutes(left))
}

// has is how much of the cap the job takes where it runs, from now on.
func (c Cap) has(j *Job, s *Snapshot) int {
	n := c.amount(j, j.Place, s)
	if c.Of == Billing && n > 0 {
		n = max(n, j.Billing)
	}
	return c.Over(n, j.TimeLeft, j.TimeLimit)
}

// typed reports whether the GPUs that the job has on the node may be of the type.
func (s *Snapshot) typed(j *Job, node, kind string) bool {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch own := j.Spec.Type(); {
		case n.Name != node:
		case len(n.Types) == 0:
			return n.Type == kind
		case own != "":
			return own == kind
		default:
			return n.Has(kind) > 0
		}
	}
	return false
}

// Taken is what one job has of the cap, or what it is promised where that is more. Bound
// is what Bound returns of the snapshot.
func (s *Snapshot) Taken(c Cap, j *Job, bound map[JobID]nodes.Placement) int {
	return max(c.has(j, s), c.Use(j, bound[j.ID], s))
}

// Limit is the cap as a reason; where it is shared, with who has how much of it: at most a
// few of them.
func (s Snapshot) Limit(c Cap) reason.Reason {
	if c.Why != nil {
		return c.Why
	}
	if !c.Shared() {
		return reason.Limit{Name: c.Name}
	}
	who := append([]reason.Use(nil), c.Users...)
	bound := s.Bound()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if n := s.Taken(c, j, bound); c.Jobs[j.ID] && n > 0 {
			who = append(who, reason.Use{Job: int64(j.ID), User: j.User, Has: c.Count(n)})
		}
	}
	named := min(len(who), 3)
	return reason.Limit{Name: c.Name, Users: who[:named], More: len(who) - named, None: len(who) == 0}
}

// Count writes an amount of what the cap counts, for people: "3", "4000M" of memory,
// "90 min".
func (c Cap) Count(n int) string {
	switch {
	case c.Minutes && n >= unlimited:
		return "no end"
	case c.Minutes:
		return fmt.Sprintf("%d min", n)
	case c.Of == MemoryMB:
		return fmt.Sprintf("%dM", n)
	}
	return fmt.Sprint(n)
}
