package elastic

import (
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
)

// Views of the inventory. What Slurm counts as used on a node is the sum of ordinary jobs, of
// sluice's jobs where they are, and of the lag between two queries. The views below add what is
// bound by open moves but not yet taken.

// Foreign returns the inventory with the use of ordinary jobs only: what Slurm counts less what
// sluice's jobs hold.
func (s Snapshot) Foreign() []nodes.Node {
	loads := make([]nodes.Load, len(s.Jobs))
	for i := range s.Jobs {
		loads[i] = s.Jobs[i].Load(s.Jobs[i].Place)
	}
	return nodes.Without(s.Nodes, loads...)
}

// Capacity returns how many GPUs sluice's jobs have or could have: all but those of ordinary jobs,
// and those that are idle on nodes that take no jobs.
func (s Snapshot) Capacity() (gpus int) {
	for i, n := range s.Foreign() {
		if n.Usable {
			gpus += n.GPUs - n.Used
		} else {
			gpus += s.Nodes[i].Used - n.Used
		}
	}
	return gpus
}

// Load returns what the job uses at a placement.
func (j *Job) Load(at nodes.Placement) nodes.Load {
	return nodes.Load{Place: at, CPUsPerGPU: j.Spec.CPUsPerGPU, MemPerGPUMB: j.Spec.MemPerGPUMB, Type: j.Spec.Type()}
}

// Committed returns the placement a job is bound to: the target of its open
// move, else where it is.
func (s Snapshot) Committed(j Job) nodes.Placement {
	if in, ok := s.Intent(j.ID); ok {
		if in.AnyNodes && len(j.Place) > 0 {
			return j.Place
		}
		return in.Target
	}
	return j.Place
}

// Bound returns, for every job with an open move, the placement that it is bound to.
func (s Snapshot) Bound() map[JobID]nodes.Placement {
	out := make(map[JobID]nodes.Placement, len(s.Intents))
	for _, in := range s.Intents {
		if _, twice := out[in.Job]; !twice {
			out[in.Job] = in.Target
		}
	}
	for _, in := range s.Intents {
		if !in.AnyNodes {
			continue
		}
		for _, j := range s.Jobs {
			if j.ID == in.Job && len(j.Place) > 0 {
				out[j.ID] = j.Place
			}
		}
	}
	return out
}

// Available reports whether every share of the target is free on its node now. What the job
// itself holds there counts as free; what other open moves are bound to does not.
func (s Snapshot) Available(target nodes.Placement, j Job) bool {
	promised := s.promised(j.ID)
	kind := j.Spec.Type()
	for _, share := range target {
		free := -1
		for _, n := range s.Nodes {
			if n.Name == share.Node {
				n.Book(kind, -j.Place.On(n.Name))
				for _, p := range promised[n.Name] {
					n.Book(p.Type, p.GPUs)
				}
				free = n.Left(kind)
			}
		}
		if free < share.GPUs {
			return false
		}
	}
	return true
}

// promised lists, per node, the GPUs that open moves of other jobs are bound to and do not hold
// yet, with the type that each asks for.
func (s Snapshot) promised(except JobID) map[string][]nodes.OfType {
	out := map[string][]nodes.OfType{}
	place, kind := map[JobID]nodes.Placement{}, map[JobID]string{}
	for _, j := range s.Jobs {
		place[j.ID], kind[j.ID] = j.Place, j.Spec.Type()
	}
	for _, in := range s.Intents {
		if in.Job == except || in.AnyNodes {
			continue
		}
		for _, share := range in.Target {
			if more := share.GPUs - place[in.Job].On(share.Node); more > 0 {
				out[share.Node] = append(out[share.Node], nodes.OfType{Type: kind[in.Job], GPUs: more})
			}
		}
	}
	return out
}

// Holds reports whether all nodes of a place are in one of the partitions (comma separated).
func (s Snapshot) Holds(partitions string, place nodes.Placement) bool {
	for p := range strings.SplitSeq(partitions, ",") {
		in := 0
		for i := range s.Nodes {
			if n := &s.Nodes[i]; place.On(n.Name) > 0 && n.In(p) {
				in++
			}
		}
		if in == len(place) {
			return true
		}
	}
	return false
}

// Request returns the job as package nodes sees it, without its size.
func (j *Job) Request(l Limits) nodes.Request {
	return nodes.Request{
		ID: int64(j.ID), Partition: j.Partition, Uneven: j.Spec.AllowUneven || l.AnySplit(), Share: l.ShareNodes,
		CPUsPerGPU: j.Spec.CPUsPerGPU, MemPerGPUMB: j.Spec.MemPerGPUMB, Type: j.Spec.Type(), MaxNodes: j.MaxNodes,
	}
}
