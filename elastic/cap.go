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
	Jobs     Resource = "jobs" // running jobs
)

// Cap is one limit of the site on some of sluice's jobs. Slurm does not start a job beyond a
// limit, no matter which program wrote its size; it leaves a running job alone, even if the limit is lowered
// below the job's allocation. So a cap applies to starts and restarts: no move is planned that
// would leave a job pending in Slurm, and no job is moved only because of a cap. The exception is
// a cap that Reclaims.
type Cap struct {
	Name string // for people: "GrpTRES=gres/gpu=2 of account phys"
	// Why is the reason of a cap that is not a limit of Slurm; else nil.
	Why  reason.Reason
	Of   Resource
	Type string // only GPUs of this type count; "" = any
	Most int    // at least 0
	// Each: the limit holds for every job alone, else for the sum of Jobs and Others. Node,
	// with Each: for every node of every job alone. Least: it is a minimum for each job, not a
	// maximum.
	Each, Node, Least bool
	// Minutes: what counts is the resource times the minutes left of the job's time limit. A
	// job that is restarted has its whole limit left.
	Minutes bool
	// Jobs are the jobs that the cap applies to.
	Jobs map[JobID]bool
	// Others is the usage in the same group by jobs that are not decided about; Users is the
	// usage by user.
	Others int
	Users  []reason.Use
	// Bills, of a cap of Billing, is how it counts, by partition. A partition without an entry
	// counts CPUs.
	Bills map[string]Bill
	// Reclaims: it is no limit of Slurm's, but the GPUs that a user has by its share while others
	// want theirs (see share/claim). Running jobs above it shrink towards their minimum, never
	// below, and GPUs that are idle within all caps are lent beyond it, in the order of
	// Snapshot.Caps. Of is GPUs and Type ""; it is Shared.
	Reclaims bool
	// Throttle: it is the %N of a job array.
	Throttle bool
	// MaxTime, if not 0, is the longest time limit that Partition allows: a job that asks for
	// more never starts.
	MaxTime   time.Duration
	Partition string
}

// Shared reports whether the limit holds for the sum of its jobs and the others.
func (c Cap) Shared() bool { return !c.Each && !c.Least }

// Use returns how much of the cap the job would use if it were started at the place.
func (c Cap) Use(j *Job, at nodes.Placement, s *Snapshot) int {
	return times(c.amount(j, at, s), c.minutes(j.TimeLimit))
}

// amount returns how much of the resource the job uses at a place.
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

// Takes returns how much of the cap the job uses if it is started on this many GPUs and nodes,
// with at most this many GPUs on one node.
func (c Cap) Takes(j *Job, gpus, nodes, most int) int {
	return times(c.of(j, gpus, nodes, most), c.minutes(j.TimeLimit))
}

// of returns the amount of the resource for a size; for a cap per node (Node), the amount on
// the fullest node.
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

// needs returns how many CPUs and how much memory (MB) the job uses on this many GPUs and
// nodes.
func needs(j *Job, gpus, nodes int) (cpus, mb int) {
	cpus = max(nodes, j.Spec.CPUsPerGPU*gpus)
	if j.Spec.MemPerGPUMB > 0 {
		return cpus, int(j.Spec.MemPerGPUMB) * gpus
	}
	return cpus, max(int(j.Memory.PerNodeMB)*nodes, int(j.Memory.PerCPUMB)*cpus, int(j.Memory.PerGPUMB)*gpus)
}

// unlimited stands for the minutes of a job without a time limit: more than any cap allows.
const unlimited = 1 << 32

// minutes returns the factor of a cap in minutes for a time limit; a limit of 0 is unlimited.
// It is 1 for other caps.
func (c Cap) minutes(limit time.Duration) int {
	switch {
	case !c.Minutes:
		return 1
	case limit <= 0:
		return unlimited
	}
	return int((limit + time.Minute - 1) / time.Minute)
}

// mostUse bounds the usage of one job, so that sums of many do not overflow.
const mostUse = 1 << 48

func times(n, minutes int) int {
	if n > 0 && minutes > mostUse/n {
		return mostUse
	}
	return n * minutes
}

// Over returns what n of the resource count for in a running job with this much left of its
// time limit; a limit of 0 is none.
func (c Cap) Over(n int, left, limit time.Duration) int {
	if limit > 0 {
		left = max(left, time.Nanosecond) // beyond its limit; Slurm is about to end it
	}
	return times(n, c.minutes(left))
}

// has returns how much of the cap the job uses where it runs, from now on.
func (c Cap) has(j *Job, s *Snapshot) int {
	n := c.amount(j, j.Place, s)
	if c.Of == Billing && n > 0 {
		n = max(n, j.Billing)
	}
	return c.Over(n, j.TimeLeft, j.TimeLimit)
}

// typed reports whether the job's GPUs on the node may be of the type.
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

// Taken returns the larger of what the job uses of the cap and what it is bound to get. bound
// is the result of Bound for this snapshot.
func (s *Snapshot) Taken(c Cap, j *Job, bound map[JobID]nodes.Placement) int {
	return max(c.has(j, s), c.Use(j, bound[j.ID], s))
}

// Limit returns the cap as a reason. For a shared cap it includes the largest users of it, at
// most a few.
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

// Count writes an amount of the cap's resource, for people: "3", "4000M" of memory, "90 min".
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
