package joint

import "slices"

// floor is the nodes while jobs are being placed, with an index by free GPUs, so that the best
// fit is found without a search of every node.
//
// Free GPUs are part of an index, so those of each node MUST stay from 0 to cap: a place is taken
// only AFTER fits, left or fit found that it has room.
type floor struct {
	free   []int
	class  []int
	cap    []int // GPUs free without any job of the problem
	cpus   []int
	mem    []int64
	spans  []int // number of jobs on several nodes that are on it
	types  byType
	bucket [][]int32 // nodes by class, by whether they have such jobs, and by free GPUs
	pos    []int32   // position of each node in its bucket
	key    []int     // and the index of that bucket
	least  [][]int   // by class: number of nodes with this many GPUs free, or more
	room   []int     // by class: GPUs free
	most   int       // largest cap
	levels []int     // workspace of loose
	tally  []int     // of the split being placed: number of shares with this many GPUs
	next   []int     // and the index of the next of them among the nodes found
	share  bool
	spoken []int32 // stamp of a node that the placement under construction already uses
	stamp  int32
}

// newFloor returns the nodes without any job of the problem.
func newFloor(p *Problem) *floor {
	n := len(p.Nodes)
	f := &floor{
		free: make([]int, n), class: make([]int, n), cap: make([]int, n), cpus: make([]int, n), mem: make([]int64, n),
		spans: make([]int, n), pos: make([]int32, n), key: make([]int, n), spoken: make([]int32, n), share: p.Share, types: newByType(p),
	}
	for i, node := range p.Nodes {
		f.most = max(f.most, node.Free)
		f.cap[i], f.class[i] = node.Free, node.Class
	}
	classes := p.classes()
	f.bucket = make([][]int32, classes*2*(f.most+1))
	f.room, f.tally, f.next = make([]int, classes), make([]int, f.most+1), make([]int, f.most+1)
	f.least = make([][]int, classes)
	for c := range f.least {
		f.least[c] = make([]int, f.most+1)
	}
	f.reset(p)
	return f
}

// classes returns a number above every class that a node has or a job may use.
func (p *Problem) classes() int {
	n := 0
	for i := range p.Nodes {
		n = max(n, p.Nodes[i].Class+1)
	}
	for i := range p.Jobs {
		for _, group := range p.Jobs[i].Groups {
			for _, class := range group {
				n = max(n, class+1)
			}
		}
	}
	return n
}

// reset takes every job of the problem off the nodes.
func (f *floor) reset(p *Problem) {
	for k := range f.bucket {
		f.bucket[k] = f.bucket[k][:0]
	}
	for c := range f.least {
		clear(f.least[c])
	}
	clear(f.room)
	f.types.reset(p)
	for i := len(p.Nodes) - 1; i >= 0; i-- { // buckets are used from their end: first nodes first
		node := &p.Nodes[i]
		st := node.stand()
		f.free[i], f.spans[i], f.cpus[i], f.mem[i] = st.free, st.spans, st.cpus, st.mem
		f.enter(i)
		f.count(i, 0, f.free[i])
	}
}

// count records that a node's free GPUs changed.
func (f *floor) count(i, from, to int) {
	least := f.least[f.class[i]]
	f.room[f.class[i]] += to - from
	for k := from + 1; k <= to; k++ {
		least[k]++
	}
	for k := to + 1; k <= from; k++ {
		least[k]--
	}
}

// idle returns how many GPUs are free in the job's group with the most.
func (f *floor) idle(j *Job) int {
	most := 0
	for _, group := range j.Groups {
		n := 0
		for _, class := range group {
			n += f.room[class]
		}
		most = max(most, n)
	}
	return most
}

// sort counts the shares of a split by size. It returns false if one is larger than any node.
func (f *floor) sort(split []int) (top, low int, ok bool) {
	clear(f.tally)
	top, low = 0, f.most
	for _, n := range split {
		if n < 1 || n > f.most {
			return 0, 0, false
		}
		f.tally[n]++
		top, low = max(top, n), min(low, n)
	}
	return top, low, true
}

// may reports whether the free GPUs of a group could hold the sorted split, regardless of CPUs,
// memory and other jobs on several nodes: for each size of share it needs as many nodes with
// that many GPUs free as there are shares of this size or more.
func (f *floor) may(group []int, top, low int) bool {
	need := 0
	for k := top; k >= low; k-- {
		need += f.tally[k]
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

// slot returns the index of a bucket.
func (f *floor) slot(class int, spanned bool, free int) int {
	k := class * 2
	if spanned {
		k++
	}
	return k*(f.most+1) + free
}

// enter puts a node at the end of its bucket, where it is found first.
func (f *floor) enter(i int) {
	f.key[i] = f.slot(f.class[i], f.spans[i] > 0, f.free[i])
	b := &f.bucket[f.key[i]]
	f.pos[i] = int32(len(*b))
	*b = append(*b, int32(i))
}

// leave takes a node out of its bucket in O(1): the last one takes its position.
func (f *floor) leave(i int) {
	b := f.bucket[f.key[i]]
	last := b[len(b)-1]
	b[f.pos[i]] = last
	f.pos[last] = f.pos[i]
	f.bucket[f.key[i]] = b[:len(b)-1]
}

// take puts a job's shares on their nodes; give takes them off again.
func (f *floor) take(j *Job, place []Share) { f.shift(j, place, 1) }
func (f *floor) give(j *Job, place []Share) { f.shift(j, place, -1) }

// shift changes what is free on the nodes. Each node leaves its bucket BEFORE the change and
// enters another AFTER it: buckets are by what is free.
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
		f.cpus[s.Node] -= sign * j.cpusFor(s.GPUs)
		f.mem[s.Node] -= int64(sign) * int64(s.GPUs) * j.MemPerGPUMB
		f.types.take(j, s.Node, sign*s.GPUs)
		f.enter(s.Node)
	}
}

// cpusFor returns the CPUs for this many GPUs on one node.
func (j *Job) cpusFor(gpus int) int {
	if j.CPUsPerGPU == 0 {
		return 1
	}
	return gpus * j.CPUsPerGPU
}

// holds reports whether the node has room for n GPUs of the job.
func (f *floor) holds(i int, j *Job, n int) bool {
	return f.types.left(j, i, f.free[i]) >= n &&
		f.cpus[i] >= j.cpusFor(n) &&
		(j.MemPerGPUMB == 0 || f.mem[i] >= int64(n)*j.MemPerGPUMB)
}

// plenty stands for an amount that is not counted.
const plenty = 1 << 40

// stand returns the node without any job of the problem.
func (n *Node) stand() stand {
	st := stand{free: n.Free, cpus: n.CPUs, mem: n.MemoryMB}
	if n.Spanning {
		st.spans = 1
	}
	if n.CPUs < 0 {
		st.cpus = plenty
	}
	if n.MemoryMB < 0 {
		st.mem = plenty
	}
	return st
}

// left reports whether the job can keep its place: those beside it stay where they are.
func (f *floor) left(j *Job, place []Share) bool {
	for _, s := range place {
		if !f.holds(s.Node, j, s.GPUs) {
			return false
		}
	}
	return true
}

// fits reports whether a job can move to a place, or back to it.
func (f *floor) fits(j *Job, place []Share) bool {
	if len(place) > 1 && !f.share && !j.Mixes {
		for _, s := range place {
			if f.spans[s.Node] > 0 {
				return false
			}
		}
	}
	return f.left(j, place)
}

// find searches as many nodes as there are places in to, for n GPUs of the job on each, first
// those that n GPUs fill best. It leaves out nodes with a stamp and, for a job on several
// nodes, those that another such job is on. It stamps the nodes that it finds, and returns
// their number.
//
// Of equally good nodes those with jobs on several nodes come first, where the job may join them:
// that leaves the others to jobs that may not. Its cost is one look at each bucket of the group,
// and at the nodes that it returns or rejects, not at all nodes.
func (f *floor) find(j *Job, group []int, n int, several bool, to []int32) (found int) {
	for free := n; free <= f.most; free++ {
		for _, class := range group {
			if !several || f.share {
				found += f.from(f.slot(class, true, free), j, n, to[found:])
			}
			if found += f.from(f.slot(class, false, free), j, n, to[found:]); found == len(to) {
				return found
			}
		}
	}
	return found
}

// glance bounds how many nodes of one bucket are rejected: only for CPUs, memory and the job's
// own other shares.
// So behind many nodes that lack memory one that has it may be missed.
const glance = 64

// from finds nodes in one bucket, the last first. stamp marks the nodes that this job already uses.
func (f *floor) from(slot int, j *Job, n int, to []int32) (found int) {
	b := f.bucket[slot]
	for k, down := len(b)-1, 0; k >= 0 && down < glance && found < len(to); k-- {
		i := b[k]
		if f.spoken[i] == f.stamp || !f.holds(int(i), j, n) {
			down++
			continue
		}
		f.spoken[i] = f.stamp
		to[found] = i
		found++
	}
	return found
}

// pick is find among the nodes listed, the first of them first.
func (f *floor) pick(among []int, j *Job, group []int, n int, several bool, to []int32) (found int) {
	for _, i := range among {
		if found == len(to) {
			break
		}
		if f.spoken[i] == f.stamp || !slices.Contains(group, f.class[i]) || !f.holds(i, j, n) || several && !f.share && f.spans[i] > 0 {
			continue
		}
		f.spoken[i] = f.stamp
		to[found] = int32(i)
		found++
	}
	return found
}

// loose splits n GPUs over this many nodes as the group's free GPUs suggest: neighbours in the
// order of their free GPUs, with as few GPUs together as are enough. It returns nil if there
// are none.
//
// It is valid until the next call. For example 5 GPUs over 2 nodes, with 1, 2, 4 and 4 free: 1+2
// are too few, 2+4 are enough, and the split is 2+3.
func (f *floor) loose(group []int, n, over int) []int {
	f.levels = f.levels[:0]
	for k := 1; k <= f.most && len(f.levels) <= loosely; k++ {
		for _, class := range group {
			more := f.least[class][k]
			if k < f.most {
				more -= f.least[class][k+1]
			}
			for range more {
				f.levels = append(f.levels, k)
			}
		}
	}
	if len(f.levels) < over || len(f.levels) > loosely {
		return nil
	}
	sum := 0
	for i, k := range f.levels {
		if sum += k; i >= over {
			sum -= f.levels[i-over]
		}
		if i < over-1 || sum < n {
			continue
		}
		split := f.levels[i-over+1 : i+1]
		for last := over - 1; sum > n; last-- { // the nodes with the most free GPUs give fewer
			less := min(sum-n, split[last]-1)
			split[last] -= less
			sum -= less
		}
		return split
	}
	return nil
}
