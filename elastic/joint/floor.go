package joint

// floor is the nodes while jobs are being placed, with an index by free GPUs, so
// that the best fit is found without looking at every node.
type floor struct {
	free   []int
	class  []int
	cap    []int // GPUs free when nobody of the problem is there
	cpus   []int
	mem    []int64
	spans  []int     // jobs over several nodes on it
	bucket [][]int32 // nodes by class, spanned or not, and free GPUs
	pos    []int32   // of each node in its bucket
	least  [][]int   // by class: how many nodes have so many GPUs free, or more
	most   int       // greatest cap
	share  bool
	spoken []int32 // node already used by the placement being made: its stamp
	stamp  int32
}

// newFloor is the nodes without any job of the problem.
func newFloor(p *Problem) *floor {
	n := len(p.Nodes)
	f := &floor{
		free: make([]int, n), class: make([]int, n), cap: make([]int, n), cpus: make([]int, n), mem: make([]int64, n),
		spans: make([]int, n), pos: make([]int32, n), spoken: make([]int32, n), share: p.Share,
	}
	classes := 0
	for i, node := range p.Nodes {
		f.most, classes = max(f.most, node.Free), max(classes, node.Class+1)
		f.cap[i], f.class[i] = node.Free, node.Class
	}
	f.bucket = make([][]int32, classes*2*(f.most+1))
	f.least = make([][]int, classes)
	for c := range f.least {
		f.least[c] = make([]int, f.most+1)
	}
	f.reset(p)
	return f
}

// reset takes every job of the problem off the nodes.
func (f *floor) reset(p *Problem) {
	for k := range f.bucket {
		f.bucket[k] = f.bucket[k][:0]
	}
	for c := range f.least {
		clear(f.least[c])
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- { // buckets are used from their end: first nodes first
		node := &p.Nodes[i]
		f.free[i], f.cpus[i], f.mem[i], f.spans[i] = node.Free, node.CPUs, node.MemoryMB, 0
		if node.Spanning {
			f.spans[i] = 1
		}
		f.enter(i)
		f.count(i, 0, f.free[i])
	}
}

// count notes that a node went from so many free GPUs to so many.
func (f *floor) count(i, from, to int) {
	least := f.least[f.class[i]]
	for k := from + 1; k <= to; k++ {
		least[k]++
	}
	for k := to + 1; k <= from; k++ {
		least[k]--
	}
}

// may reports whether the free GPUs of a group could hold a split, CPUs, memory
// and other jobs on several nodes left aside: it needs as many nodes with so many
// free as it has shares of this size or more.
func (f *floor) may(group, split []int) bool {
	top, low := split[0], split[0]
	for _, n := range split[1:] {
		top, low = max(top, n), min(low, n)
	}
	if top > f.most {
		return false
	}
	for k := top; k >= low; k-- {
		need := 0
		for _, n := range split {
			if n >= k {
				need++
			}
		}
		have := 0
		for _, class := range group {
			have += f.least[class][k]
		}
		if have < need {
			return false
		}
	}
	return true
}

func (f *floor) key(i int) int { return f.slot(f.class[i], f.spans[i] > 0, f.free[i]) }

func (f *floor) slot(class int, spanned bool, free int) int {
	k := class * 2
	if spanned {
		k++
	}
	return k*(f.most+1) + free
}

func (f *floor) enter(i int) {
	b := &f.bucket[f.key(i)]
	f.pos[i] = int32(len(*b))
	*b = append(*b, int32(i))
}

func (f *floor) leave(i int) {
	b := f.bucket[f.key(i)]
	last := b[len(b)-1]
	b[f.pos[i]] = last
	f.pos[last] = f.pos[i]
	f.bucket[f.key(i)] = b[:len(b)-1]
}

// take puts a job's share on its nodes; give takes it off again.
func (f *floor) take(j *Job, place []Share) { f.shift(j, place, 1) }
func (f *floor) give(j *Job, place []Share) { f.shift(j, place, -1) }

func (f *floor) shift(j *Job, place []Share, sign int) {
	spanning := 0
	if len(place) > 1 {
		spanning = sign
	}
	for _, s := range place {
		f.leave(s.Node)
		f.count(s.Node, f.free[s.Node], f.free[s.Node]-sign*s.GPUs)
		f.free[s.Node] -= sign * s.GPUs
		f.spans[s.Node] += spanning
		if f.cpus[s.Node] >= 0 {
			f.cpus[s.Node] -= sign * j.cpusFor(s.GPUs)
			f.cpus[s.Node] = max(f.cpus[s.Node], 0)
		}
		if f.mem[s.Node] >= 0 {
			f.mem[s.Node] -= int64(sign) * int64(s.GPUs) * j.MemPerGPUMB
			f.mem[s.Node] = max(f.mem[s.Node], 0)
		}
		f.enter(s.Node)
	}
}

func (j *Job) cpusFor(gpus int) int {
	if j.CPUsPerGPU == 0 {
		return 1
	}
	return gpus * j.CPUsPerGPU
}

// holds reports whether the node has room for the job's GPUs.
func (f *floor) holds(i int, j *Job, n int) bool {
	return f.free[i] >= n &&
		(f.cpus[i] < 0 || f.cpus[i] >= j.cpusFor(n)) &&
		(f.mem[i] < 0 || j.MemPerGPUMB == 0 || f.mem[i] >= int64(n)*j.MemPerGPUMB)
}

// fits reports whether the place the job has is left to it.
func (f *floor) fits(j *Job, place []Share) bool {
	for _, s := range place {
		if !f.holds(s.Node, j, s.GPUs) {
			return false
		}
	}
	return true
}

// find returns the node that n GPUs of the job fill best, -1 when there is none.
// Nodes spoken for are left out, as, for a job on several nodes, are those another
// such job is on.
func (f *floor) find(j *Job, group []int, n int, several bool) int {
	for free := n; free <= f.most; free++ {
		for _, class := range group {
			if !several || f.share {
				if i := f.from(f.slot(class, true, free), j, n); i >= 0 {
					return i
				}
			}
			if i := f.from(f.slot(class, false, free), j, n); i >= 0 {
				return i
			}
		}
	}
	return -1
}

// glance bounds how many nodes of one bucket are looked at: only CPUs, memory and
// the job's own other shares stand in the way.
const glance = 64

func (f *floor) from(slot int, j *Job, n int) int {
	b := f.bucket[slot]
	for k := len(b) - 1; k >= max(0, len(b)-glance); k-- {
		i := int(b[k])
		if f.spoken[i] != f.stamp && f.holds(i, j, n) {
			return i
		}
	}
	return -1
}
