package elastic

import (
	"fmt"
	"maps"
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
// that are free now where they can, else GPUs that open moves will free, large
// jobs first (nodes.Place: best fit). When somebody finds no place in that
// order, the unlucky are tried first a few more times; the arrangement that
// leaves fewest short of their size wins.
func Arrange(s Snapshot, a Allocation) Arrangement {
	start := newSketch(s)
	var grow []Job
	for _, j := range s.Jobs {
		want := a[j.ID].GPUs
		_, moving := s.Intent(j.ID)
		switch {
		case moving || want == 0 || want == j.GPUs() || !movable(j):
		case want < j.GPUs():
			start.shrink(j, want)
		default:
			grow = append(grow, j)
		}
	}
	start.reserve()
	slices.SortStableFunc(grow, func(x, y Job) int { return a[y.ID].GPUs - a[x.ID].GPUs })
	best, fewest := start.grown(grow, a)
	for short, tries := fewest, 0; tries < 4 && len(short) > 0; tries++ {
		next := first(short, grow)
		if slices.EqualFunc(next, grow, func(x, y Job) bool { return x.ID == y.ID }) {
			break
		}
		grow = next
		var again *sketch
		again, short = start.grown(grow, a)
		if len(short) < len(fewest) {
			best, fewest = again, short
		}
	}
	return best.Arrangement
}

// first returns the jobs with the named ones in front, both in their order.
func first(named []JobID, jobs []Job) []Job {
	var front, rest []Job
	for _, j := range jobs {
		if slices.Contains(named, j.ID) {
			front = append(front, j)
		} else {
			rest = append(rest, j)
		}
	}
	return append(front, rest...)
}

// sketch is an arrangement in the making, with two views of the inventory.
type sketch struct {
	Arrangement
	s    Snapshot
	now  []nodes.Node // everything used, and everything promised to others, on it
	soon []nodes.Node // as it will be once every move made its way
	room nodes.Load   // what ordinary jobs wait for and could have by then
}

func newSketch(s Snapshot) *sketch {
	k := &sketch{Arrangement: Arrangement{Target: map[JobID]nodes.Placement{}, Unplaced: map[JobID]string{}}, s: s}
	promised, bound := make([]nodes.Load, len(s.Jobs)), make([]nodes.Load, len(s.Jobs))
	for i, j := range s.Jobs {
		p := s.Committed(j)
		if len(p) > 0 {
			k.Target[j.ID] = p
		}
		promised[i], bound[i] = j.load(beyond(p, j.Place)), j.load(p)
	}
	k.now, k.soon = nodes.With(s.Nodes, promised...), nodes.With(s.Foreign(), bound...)
	return k
}

// reserve sets aside what ordinary jobs wait for, as far as there will be room.
func (k *sketch) reserve() {
	wants := make([]nodes.Want, len(k.s.Demands))
	for i, d := range k.s.Demands {
		wants[i] = nodes.Want{Partition: d.Partition, Nodes: d.Nodes, GPUs: d.GPUs}
	}
	after, _ := nodes.Reserve(k.soon, wants)
	for i, n := range after {
		if more := n.Used - k.soon[i].Used; more > 0 {
			k.room.Place = append(k.room.Place, nodes.Share{Node: n.Name, GPUs: more})
		}
	}
}

// grown places the jobs in the order given on a copy of the sketch, and returns
// those that did not get their size.
func (k *sketch) grown(order []Job, a Allocation) (*sketch, []JobID) {
	c := *k
	c.now, c.soon = slices.Clone(k.now), slices.Clone(k.soon)
	c.Target, c.Unplaced = maps.Clone(k.Target), maps.Clone(k.Unplaced)
	var short []JobID
	for _, j := range order {
		want := a[j.ID].GPUs
		p := c.find(j, want)
		if len(p) > 0 {
			c.settle(j, p)
		} else {
			c.Unplaced[j.ID] = fmt.Sprintf("wants %d GPUs, but no nodes of its partition have them free in a split Slurm can give", want)
		}
		if p.GPUs() != want {
			short = append(short, j.ID)
		}
	}
	return &c, short
}

// settle gives a job its place.
func (k *sketch) settle(j Job, p nodes.Placement) {
	nodes.Charge(k.now, j.load(beyond(p, j.Place)))
	nodes.Credit(k.soon, j.load(k.Target[j.ID]))
	nodes.Charge(k.soon, j.load(p))
	k.Target[j.ID] = p
}

func movable(j Job) bool { return j.Phase == Running || j.Phase == Held }

// shrink chooses the nodes a job keeps among those it has. What is idle there
// counts as free: Slurm fills an uneven split greedily from it.
func (k *sketch) shrink(j Job, want int) {
	var own []nodes.Node
	for _, n := range nodes.Without(k.now, j.load(j.Place)) {
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
		k.settle(j, p)
		return
	}
	k.Unplaced[j.ID] = fmt.Sprintf("was to give back %d GPUs, but no split of the rest on its own nodes is possible", j.GPUs()-want)
}

// find returns a place for a job that starts or grows; empty when there is none.
func (k *sketch) find(j Job, want int) nodes.Placement {
	own := j.load(j.Place)
	nodes.Credit(k.now, own)
	nodes.Credit(k.soon, own)
	defer nodes.Charge(k.now, own)
	defer nodes.Charge(k.soon, own)
	views := k.views(j)
	less := make([]int, len(views))
	for i, view := range views {
		p, fits := place(view, j, want)
		if p != nil {
			return p
		}
		if fits <= j.GPUs() {
			continue
		}
		// A job that starts takes less, at once, rather than wait for more; one
		// that runs moves once.
		if less[i] = fits; len(j.Place) == 0 {
			p, _ := place(view, j, fits)
			return p
		}
	}
	for i, view := range views {
		if less[i] > 0 {
			p, _ := place(view, j, less[i])
			return p
		}
	}
	return nil
}

// views lists what a job may take from, best first. What ordinary jobs wait for
// is set aside; only a job that starts may take it when there is nothing else,
// for its turn came by the order of arrival.
func (k *sketch) views(j Job) [][]nodes.Node {
	if len(k.room.Place) == 0 {
		return [][]nodes.Node{k.now, k.soon}
	}
	views := [][]nodes.Node{nodes.With(k.now, k.room), nodes.With(k.soon, k.room)}
	if len(j.Place) == 0 {
		views = append(views, k.now, k.soon)
	}
	return views
}

// place returns the job's placement at the wanted size, and when there is none
// the largest accepted size below it that would fit. A pin admits no other size.
func place(inventory []nodes.Node, j Job, want int) (p nodes.Placement, fits int) {
	sizes := j.Spec.Options(want)
	if j.Directive.Pin == want {
		sizes = []int{want}
	}
	r := nodes.Place(inventory, []nodes.Request{{
		ID: int64(j.ID), GPUs: want, Sizes: sizes, Partition: j.Partition, Uneven: j.Spec.AllowUneven,
		CPUsPerGPU: j.Spec.CPUsPerGPU, MemPerGPUMB: j.Spec.MemPerGPUMB,
	}})[0]
	if len(r.Placement) == 0 {
		return nil, r.Fits
	}
	return r.Placement, r.Fits
}

// freeNow is the inventory as one job finds it: everything used, and everything
// promised to others, on it.
func freeNow(s Snapshot, j Job) []nodes.Node {
	k := newSketch(s)
	nodes.Credit(k.now, j.load(j.Place), j.load(beyond(s.Committed(j), j.Place)))
	return k.now
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
