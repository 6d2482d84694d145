package elastic

import (
	"fmt"
	"slices"

	"github.com/sluice-hpc/sluice/nodes"
)

// Arrangement is where an allocation puts each job.
type Arrangement struct {
	// Target holds every job that has or gets GPUs. A job that keeps its size
	// keeps its place.
	Target map[JobID]nodes.Placement
	// Unplaced holds why a job could not get its size, for people.
	Unplaced map[JobID]string
}

// Arrange places an allocation. Jobs that shrink stay within their own nodes, so
// that nobody waits for anybody to shrink; jobs that start or grow take GPUs
// that are free now where they can, else GPUs that open moves will free. The
// rest follows best fit decreasing (nodes.Place).
func Arrange(s Snapshot, a Allocation) Arrangement {
	out := Arrangement{Target: map[JobID]nodes.Placement{}, Unplaced: map[JobID]string{}}
	var shrink, grow []Job
	for _, j := range s.Jobs {
		committed := s.Committed(j)
		want := a[j.ID].GPUs
		_, moving := s.Intent(j.ID)
		switch {
		case moving || want == 0 || want == j.GPUs() || !movable(j):
			if len(committed) > 0 {
				out.Target[j.ID] = committed
			}
		case want < j.GPUs():
			shrink = append(shrink, j)
		default:
			grow = append(grow, j)
		}
	}
	for _, j := range shrink {
		out.shrinkInPlace(s, j, a[j.ID].GPUs)
	}
	slices.SortStableFunc(grow, func(x, y Job) int { return a[y.ID].GPUs - a[x.ID].GPUs })
	for _, j := range grow {
		out.growOrStart(s, j, a[j.ID].GPUs)
	}
	return out
}

func movable(j Job) bool { return j.Phase == Running || j.Phase == Held }

// shrinkInPlace chooses the nodes a job keeps among those it has. What is idle
// there counts as free: Slurm fills an uneven split greedily from it.
func (a Arrangement) shrinkInPlace(s Snapshot, j Job, want int) {
	a.Target[j.ID] = j.Place
	var own []nodes.Node
	for _, n := range a.freeNow(s, j) {
		if j.Place.On(n.Name) > 0 {
			n.Usable = true // draining: it keeps what it has
			own = append(own, n)
		}
	}
	p, fits := place(own, j, want)
	if p == nil && fits > 0 {
		p, _ = place(own, j, fits)
	}
	if p != nil {
		a.Target[j.ID] = p
		return
	}
	a.Unplaced[j.ID] = fmt.Sprintf("was to give back %d GPUs, but no split of the rest on its own nodes is possible", j.GPUs()-want)
}

// growOrStart places a job on GPUs free now, else on GPUs that will be. A job
// that starts takes less than it was meant to get rather than nothing.
func (a Arrangement) growOrStart(s Snapshot, j Job, want int) {
	if len(j.Place) > 0 {
		a.Target[j.ID] = j.Place
	}
	for _, inventory := range a.views(s, j) {
		p, most := place(inventory, j, want)
		if p == nil && most > j.GPUs() {
			p, _ = place(inventory, j, most)
		}
		if p != nil {
			a.Target[j.ID] = p
			return
		}
	}
	a.Unplaced[j.ID] = fmt.Sprintf("wants %d GPUs, but no nodes of its partition have them free in a split Slurm can give", want)
}

// views lists what a job may take from, best first. What ordinary jobs wait for
// is set aside; only a job that starts may take it when there is nothing else,
// for its turn came by the order of arrival.
func (a Arrangement) views(s Snapshot, j Job) [][]nodes.Node {
	now, soon := a.freeNow(s, j), a.freeSoon(s, j)
	var wants []nodes.Want
	for _, d := range s.Demands {
		wants = append(wants, nodes.Want{Partition: d.Partition, Nodes: d.Nodes, GPUs: d.GPUs})
	}
	nowLeft, _ := nodes.Reserve(now, wants)
	soonLeft, _ := nodes.Reserve(soon, wants)
	if len(j.Place) > 0 {
		return [][]nodes.Node{nowLeft, soonLeft}
	}
	return [][]nodes.Node{nowLeft, soonLeft, now, soon}
}

// place returns the job's placement at the wanted size, and when there is none
// the largest accepted size below it that would fit.
func place(inventory []nodes.Node, j Job, want int) (p nodes.Placement, fits int) {
	r := nodes.Place(inventory, []nodes.Request{{
		ID: int64(j.ID), GPUs: want, Sizes: j.Spec.Options(want), Partition: j.Partition, Uneven: j.Spec.AllowUneven,
		CPUsPerGPU: j.Spec.CPUsPerGPU, MemPerGPUMB: j.Spec.MemPerGPUMB,
	}})[0]
	if len(r.Placement) == 0 {
		return nil, r.Fits
	}
	return r.Placement, r.Fits
}

// freeNow is the inventory with everything used, or promised to others, on it.
func (a Arrangement) freeNow(s Snapshot, j Job) []nodes.Node {
	out := nodes.Without(s.Nodes, j.load(j.Place))
	for _, other := range s.Jobs {
		if other.ID == j.ID {
			continue
		}
		if more := beyond(a.bound(s, other), other.Place); len(more) > 0 {
			out = nodes.With(out, other.load(more))
		}
	}
	return out
}

// freeSoon is the inventory as it will be once every move made its way.
func (a Arrangement) freeSoon(s Snapshot, j Job) []nodes.Node {
	var loads []nodes.Load
	for _, other := range s.Jobs {
		if other.ID != j.ID {
			loads = append(loads, other.load(a.bound(s, other)))
		}
	}
	return nodes.With(s.Foreign(), loads...)
}

// bound is where a job will be as far as arranged, else where it is bound to.
func (a Arrangement) bound(s Snapshot, j Job) nodes.Placement {
	if p, ok := a.Target[j.ID]; ok {
		return p
	}
	return s.Committed(j)
}

// beyond returns what p takes on each node over what q holds there.
func beyond(p, q nodes.Placement) nodes.Placement {
	var out nodes.Placement
	for _, share := range p {
		if more := share.GPUs - q.On(share.Node); more > 0 {
			out = append(out, nodes.Share{Node: share.Node, GPUs: more})
		}
	}
	return out
}
