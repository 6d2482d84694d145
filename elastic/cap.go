package elastic

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
)

// Resource is what a Cap counts.
type Resource string

// The resources that a move of a job changes.
const (
	GPUs  Resource = "GPUs"
	CPUs  Resource = "CPUs"
	Nodes Resource = "nodes"
	Jobs  Resource = "jobs" // that run
)

// Cap is one limit of the site on some of sluice's jobs. Slurm does not start a job
// beyond one, whoever wrote its size; a job that runs it leaves alone, even when the
// limit is lowered below what it has. So a cap is about what a job is started on, or
// started again on: no move is planned to where Slurm would leave the job pending,
// and no job is moved because of a cap alone.
type Cap struct {
	Name string // for people: "GrpTRES=gres/gpu=2 of account phys"
	Of   Resource
	Type string // GPUs of this type alone; "" = of any
	Most int    // at least 0
	// Each: every job alone has to keep within it, else all of Jobs and Others
	// together. Node, beside Each: every node of every job alone. Least: it is the
	// least that each job must have.
	Each, Node, Least bool
	// Jobs are those it concerns.
	Jobs map[JobID]bool
	// Others is what runs in the same group and is not decided about, and Users who
	// that is, for people: "job 7 of alice has 2".
	Others int
	Users  []string
}

// Shared reports whether its jobs and the others have to keep within it together.
func (c Cap) Shared() bool { return !c.Each && !c.Least }

// use is how much of the resource the job takes at a place.
func (c Cap) use(j *Job, at nodes.Placement, s *Snapshot) int {
	if len(at) == 0 {
		return 0
	}
	switch c.Of {
	case GPUs:
		return c.gpus(at, s)
	case CPUs:
		return max(len(at), j.Spec.CPUsPerGPU*at.GPUs())
	case Nodes:
		return len(at)
	}
	return 1
}

// gpus counts the GPUs of the cap's type; of each node alone the most.
func (c Cap) gpus(at nodes.Placement, s *Snapshot) int {
	sum, most := 0, 0
	for _, share := range at {
		if c.Type != "" && !s.typed(share.Node, c.Type) {
			continue
		}
		sum, most = sum+share.GPUs, max(most, share.GPUs)
	}
	if c.Node {
		return most
	}
	return sum
}

func (s *Snapshot) typed(node, kind string) bool {
	for i := range s.Nodes {
		if s.Nodes[i].Name == node {
			return s.Nodes[i].Type == kind
		}
	}
	return false
}

// taken is what one job has of the cap, or what it is promised where that is more.
func (s *Snapshot) taken(c Cap, j *Job, bound map[JobID]nodes.Placement) int {
	return max(c.use(j, j.Place, s), c.use(j, bound[j.ID], s))
}

// Using says who has how much of the cap, for people; at most a few of them.
func (s Snapshot) Using(c Cap) string {
	who := append([]string(nil), c.Users...)
	bound := s.bound()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if n := s.taken(c, j, bound); c.Jobs[j.ID] && n > 0 {
			who = append(who, fmt.Sprintf("job %d of %s has %d", j.ID, j.User, n))
		}
	}
	const most = 3
	switch {
	case len(who) == 0:
		return "nobody has any"
	case len(who) > most:
		return fmt.Sprintf("%s, and %d more jobs", strings.Join(who[:most], ", "), len(who)-most)
	}
	return strings.Join(who, ", ")
}

// Refuses returns the first cap under which Slurm would leave the job pending if it
// were started at the target now, beside what all others have or are promised.
func (s Snapshot) Refuses(j Job, target nodes.Placement) (Cap, bool) {
	if len(s.Caps) == 0 || len(target) == 0 {
		return Cap{}, false
	}
	return newQuota(&s, func(c Cap) bool { return c.Jobs[j.ID] }).refuses(&j, target)
}

// quota keeps count of the caps while moves are opened one after the other.
type quota struct {
	s     *Snapshot
	bound map[JobID]nodes.Placement
	used  []int // of each cap, by everybody
}

// newQuota counts the caps that are of interest.
func newQuota(s *Snapshot, of func(Cap) bool) *quota {
	q := &quota{s: s, used: make([]int, len(s.Caps))}
	if len(s.Caps) == 0 {
		return q
	}
	q.bound = s.bound()
	at := make(map[JobID]*Job, len(s.Jobs))
	for i := range s.Jobs {
		at[s.Jobs[i].ID] = &s.Jobs[i]
	}
	for k, c := range s.Caps {
		if q.used[k] = c.Others; !of(c) {
			continue
		}
		for id, concerned := range c.Jobs {
			if j := at[id]; concerned && j != nil {
				q.used[k] += s.taken(c, j, q.bound)
			}
		}
	}
	return q
}

// refuses is Refuses, with what was taken since.
func (q *quota) refuses(j *Job, target nodes.Placement) (Cap, bool) {
	for k, c := range q.s.Caps {
		if !c.Jobs[j.ID] || len(target) == 0 {
			continue
		}
		n := c.use(j, target, q.s)
		switch {
		case c.Least && n < c.Most, c.Each && n > c.Most:
			return c, true
		case c.Shared() && q.used[k]-q.s.taken(c, j, q.bound)+n > c.Most:
			return c, true
		}
	}
	return Cap{}, false
}

// take books a job's target beside what it has until it was moved.
func (q *quota) take(j *Job, target nodes.Placement) {
	for k, c := range q.s.Caps {
		if c.Jobs[j.ID] {
			q.used[k] += max(0, c.use(j, target, q.s)-q.s.taken(c, j, q.bound))
		}
	}
}

// refused says in words why the target cannot be, for people.
func (s Snapshot) refused(c Cap, target nodes.Placement) string {
	switch {
	case c.Least:
		return fmt.Sprintf("%d GPUs are fewer than %s asks for", target.GPUs(), c.Name)
	case c.Each:
		return fmt.Sprintf("%s is beyond %s", target, c.Name)
	}
	return fmt.Sprintf("%s would be beyond %s: %s", target, c.Name, s.Using(c))
}
