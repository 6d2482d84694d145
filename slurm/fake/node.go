package fake

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// node is Slurm's record of a node.
type node struct {
	NodeConfig
	holder []slurm.JobID // job of each GPU; 0 = free
	cpus   int           // allocated
	down   bool
	drain  bool
	reason string
}

func (f *Fake) addNodes(configs []NodeConfig) {
	if len(configs) == 0 {
		panic("fake: a cluster without nodes")
	}
	for _, c := range configs {
		if f.node(c.Name) != nil {
			panic("fake: two nodes named " + c.Name)
		}
		if c.CPUs == 0 {
			c.CPUs = 64
		}
		if c.MemoryMB == 0 {
			c.MemoryMB = 256_000
		}
		if len(c.Partitions) == 0 {
			c.Partitions = []string{"gpu"}
		}
		f.nodes = append(f.nodes, &node{NodeConfig: c, holder: make([]slurm.JobID, c.GPUs)})
	}
}

func (f *Fake) node(name string) *node {
	for _, n := range f.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// free counts the unallocated GPUs of a type; "" = of any type.
func (n *node) free(kind string) int {
	free := 0
	for idx, id := range n.holder {
		if id == 0 && n.is(idx, kind) {
			free++
		}
	}
	return free
}

// has counts the GPUs of a type; "" = of any type.
func (n *node) has(kind string) int {
	all := 0
	for idx := range n.holder {
		if n.is(idx, kind) {
			all++
		}
	}
	return all
}

// is reports whether the GPU with that index has the type; "" matches any.
func (n *node) is(idx int, kind string) bool {
	if kind == "" {
		return true
	}
	for _, t := range n.Types {
		if idx < t.GPUs {
			return t.Type == kind
		}
		idx -= t.GPUs
	}
	return len(n.Types) == 0 && n.GPUType == kind
}

// types is what the node query shows of a node with several types, by name.
func (n *node) types() []slurm.OfType {
	out := slices.Clone(n.Types)
	slices.SortFunc(out, func(a, b slurm.OfType) int { return strings.Compare(a.Type, b.Type) })
	for i, t := range out {
		out[i].Used = t.GPUs - n.free(t.Type)
	}
	return out
}

func (n *node) usable() bool { return !n.down && !n.drain }

// view is the node as the node query shows it.
func (n *node) view() slurm.Node {
	v := slurm.Node{
		Name: n.Name, Partitions: slices.Clone(n.Partitions), Features: slices.Clone(n.Features), GPUs: n.GPUs, GPUType: n.GPUType,
		GPUsUsed: n.GPUs - n.free(""), Types: n.types(), CPUs: n.CPUs, CPUsUsed: n.cpus, MemoryMB: n.MemoryMB, Reason: n.reason,
	}
	switch {
	case n.down:
		v.States = []string{"DOWN"}
	case n.cpus == 0:
		v.States = []string{"IDLE"}
	case n.cpus >= n.CPUs:
		v.States = []string{"ALLOCATED"}
	default:
		v.States = []string{"MIXED"}
	}
	if n.drain {
		v.States = append(v.States, "DRAIN")
	}
	return v
}

// Drain keeps new jobs off a node; running jobs go on.
func (f *Fake) Drain(name, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drainNode(name, reason)
}

// NodeDown makes a node fail; its jobs are requeued or end as NODE_FAIL.
func (f *Fake) NodeDown(name, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodeDown(name, reason)
}

// NodeReturn puts a drained or failed node back into service.
func (f *Fake) NodeReturn(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodeReturn(name)
}

func (f *Fake) drainNode(name, reason string) {
	if n := f.node(name); n != nil {
		n.drain, n.reason = true, reason
		f.logf("node %s drain", name)
	}
}

func (f *Fake) nodeReturn(name string) {
	if n := f.node(name); n != nil {
		n.down, n.drain, n.reason = false, false, ""
		f.logf("node %s return", name)
		f.schedule()
	}
}

// nodeDown ends the runs on the node at once; slurmctld learns of it now, or when it is
// back.
func (f *Fake) nodeDown(name, reason string) {
	n := f.node(name)
	if n == nil || n.down {
		return
	}
	n.down, n.reason = true, reason
	f.logf("node %s down", name)
	why := Cause{What: NodeFailed, By: "slurmctld"}
	for _, j := range slices.Clone(f.jobs) {
		if !slices.ContainsFunc(j.split, func(s slurm.GPUShare) bool { return s.Node == name }) {
			continue
		}
		r := j.run
		if r != nil && !r.over {
			r.stop()
			j.program.Stop(r, why)
		}
		f.whenUp(func() { f.lostNode(j, r, why) })
	}
	f.whenUp(f.schedule)
}

// lostNode makes slurmctld notice that run r of a job lost a node.
func (f *Fake) lostNode(j *job, r *Run, why Cause) {
	switch {
	case j.run != r:
		return
	case j.completing: // nothing is left there to wait for
	case j.requeue:
		f.toQueue(j, why)
	default:
		f.finish(j, slurm.NodeFail, why)
		j.reason = "NodeDown"
	}
	if len(j.split) == 1 && j.completing {
		requeued, left := j.state == slurm.Pending && j.run == nil && r == nil, j.split[0].Node
		begins := j.begin
		f.drained(j)
		if requeued && f.cfg.Lingering {
			j.counted, j.begin = []string{left}, begins
			f.wakeAt(j)
		}
	}
}

// take gives the job its GPUs and CPUs on the nodes of the split.
func (f *Fake) take(j *job, shares []slurm.GPUShare, cpus []int) {
	j.split, j.cpusOn, j.from = shares, map[string]int{}, f.now
	for i := range j.split {
		s := &j.split[i]
		n := f.node(s.Node)
		for idx := range n.holder {
			if len(s.IDs) < s.GPUs && n.holder[idx] == 0 && n.is(idx, j.want.gpuType) {
				n.holder[idx] = j.id
				s.IDs = append(s.IDs, idx)
			}
		}
		n.cpus += cpus[i]
		j.cpusOn[s.Node] = cpus[i]
	}
	if f.limits.Enforced { // only at the first run: has returns the first billing
		j.billed = f.has(j, slurm.OfBilling)
	}
}

// lostTrack is the holder of GPUs that slurmctld counts as used by mistake.
const lostTrack slurm.JobID = -1

// give frees the job's GPUs and CPUs; GPUs still counted for another run stay counted.
func (f *Fake) give(j *job) {
	for _, s := range j.split {
		f.held = append(f.held, Allocation{Job: j.id, Node: s.Node, GPUs: s.GPUs, From: j.from, To: f.now})
		n := f.node(s.Node)
		for idx, id := range n.holder {
			if id == j.id {
				n.holder[idx] = 0
				if len(j.counted) > 0 {
					n.holder[idx] = lostTrack
				}
			}
		}
		n.cpus -= j.cpusOn[s.Node]
	}
	if j.state.Ended() {
		j.ranOn = nil
		for _, s := range j.split {
			j.ranOn = append(j.ranOn, s.Node)
		}
	}
	j.split, j.cpusOn = nil, nil
}

// Allocation is a set of GPUs that a job held on one node, from launch to the end of
// COMPLETING.
type Allocation struct {
	Job      slurm.JobID
	Node     string
	GPUs     int
	From, To time.Time
}

// Allocations returns the history of allocations, in order of their ends; the present
// ones come last, with To the present time.
func (f *Fake) Allocations() []Allocation {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.held)
	for _, j := range f.jobs {
		for _, s := range j.split {
			out = append(out, Allocation{Job: j.id, Node: s.Node, GPUs: s.GPUs, From: j.from, To: f.now})
		}
	}
	return out
}
