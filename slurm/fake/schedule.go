package fake

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// schedule schedules a pass of the scheduler, unless one is due already.
func (f *Fake) schedule() {
	if !f.passAt.IsZero() {
		return
	}
	f.passAt = f.soonest()
	f.events.push(f.passAt, f.pass)
}

// pass starts what fits, in order of priority.
func (f *Fake) pass() {
	f.passAt, f.lastPass = zero, f.now
	if f.now.Before(f.downUntil) {
		return // schedule is called again when slurmctld is back
	}
	waiting := slices.DeleteFunc(slices.Clone(f.jobs), func(j *job) bool {
		return j.state != slurm.Pending || j.completing || j.held != notHeld || j.reason == badConstraints
	})
	sort.SliceStable(waiting, func(a, b int) bool { return f.priority(waiting[a]) > f.priority(waiting[b]) })
	blocked := map[string]bool{}
	for _, j := range waiting {
		if f.depends(j); len(j.depends) > 0 {
			j.reason = dependencyReason(j.depends)
			continue
		}
		if j.begin.After(f.now) {
			j.reason = "BeginTime"
			continue
		}
		f.offer(j, blocked)
	}
}

// offer tries the job in its partitions, in order. After a run Slurm lists the partition
// of that run first.
func (f *Fake) offer(j *job, blocked map[string]bool) {
	reason := badConstraints
	for _, part := range slices.Clone(j.parts) {
		j.part, j.reason = part, "Priority"
		if !blocked[part] {
			f.try(j)
		}
		if j.state != slurm.Pending {
			j.parts = slices.DeleteFunc(j.parts, func(p string) bool { return p == part })
			j.parts = slices.Insert(j.parts, 0, part)
			return
		}
		if f.cfg.Strict && j.reason == "Resources" {
			blocked[part] = true
		}
		if reason == badConstraints { // this reason needs all partitions
			reason = j.reason
		}
	}
	j.part, j.reason = j.parts[0], reason
	if reason == badConstraints {
		f.logf("job %d bad constraints", j.id)
	}
}

// try starts the job or sets the reason for which it cannot start.
func (f *Fake) try(j *job) {
	if reason := cmp.Or(f.closed(j), f.impossible(j, func(n *node) int { return f.cpusOf(j, n) }), f.unseen(j), f.reserved(j)); reason != "" {
		j.reason = reason
		return
	}
	if reason := f.limited(j); reason != "" {
		if j.reason = reason; strings.Contains(reason, "Minutes") {
			f.after(time.Minute, f.schedule) // the minutes that running jobs may still use become fewer
		}
		return
	}
	if !f.licensed(j) {
		j.reason = "Licenses"
		return
	}
	open := func(n *node) bool { return n.usable() && !f.kept(j, n) }
	shares, cpus, ok := f.fit(j, open, func(n *node) int { return n.free(j.want.gpuType) }, func(n *node) int { return f.cpusFree(j, n) })
	if !ok {
		j.reason = "Resources"
		if gone := f.unusable(j.want.req); len(gone) > 0 {
			j.reason = "ReqNodeNotAvail, UnavailableNodes:" + strings.Join(gone, ",")
		}
		return
	}
	f.launch(j, shares, cpus)
}

// badConstraints is the reason of a job whose request can never be met. Slurm sets its
// priority to 0; an update that makes the request possible restores it.
const badConstraints = "BadConstraints"

// impossible returns the reason if the whole cluster, idle and healthy, could not meet
// the request with this many CPUs per node; "" if it could.
func (f *Fake) impossible(j *job, cpus func(*node) int) string {
	in := 0
	for _, n := range f.nodes {
		if slices.Contains(n.Partitions, j.part) {
			in++
		}
	}
	if j.want.minNodes > in {
		return "PartitionNodeLimit"
	}
	_, _, ok := f.fit(j, func(*node) bool { return true },
		func(n *node) int { return n.has(j.want.gpuType) }, cpus)
	if !ok {
		return badConstraints
	}
	return ""
}

// unseen holds the job as impossible by a rule that no query shows.
func (f *Fake) unseen(j *job) string {
	if f.cfg.Unseen != nil && f.cfg.Unseen(j.want.req, j.want.gpus()) {
		return badConstraints
	}
	return ""
}

// unusable returns those of the named nodes that accept no new jobs.
func (f *Fake) unusable(names []string) (gone []string) {
	for _, name := range names {
		if n := f.node(name); n != nil && !n.usable() {
			gone = append(gone, name)
		}
	}
	return gone
}

// fit chooses nodes and the split over them, given the nodes that may be used and what is
// free on them.
func (f *Fake) fit(j *job, may func(*node) bool, gpus, cpus func(*node) int) ([]slurm.GPUShare, []int, bool) {
	each, some := j.want.accepted()
	for _, accepts := range each {
		open := func(n *node) bool { return may(n) && (accepts(n) || some(n) && slices.Contains(j.want.req, n.Name)) }
		if shares, per, ok := f.fitWithin(j, open, gpus, cpus); ok {
			return shares, per, true
		}
	}
	return nil, nil, false
}

// fitWithin does this for one alternative of the job's constraint.
func (f *Fake) fitWithin(j *job, may func(*node) bool, gpus, cpus func(*node) int) ([]slurm.GPUShare, []int, bool) {
	w := j.want
	if w.cpus > max(w.tasks*w.perTask, w.perGPU*w.gpus()) {
		return nil, nil, false // more CPUs than the tasks can use
	}
	var first, rest []*node // required nodes first, then the others, in node order
	for _, n := range f.nodes {
		switch {
		case !may(n) || !slices.Contains(n.Partitions, j.part) || slices.Contains(w.exclude, n.Name):
		case w.gpuType != "" && n.has(w.gpuType) == 0:
		case slices.Contains(w.req, n.Name):
			first = append(first, n)
		case gpus(n) >= max(w.perNode, min(1, w.total)) && cpus(n) >= 1:
			rest = append(rest, n)
		}
	}
	if len(first) < len(w.req) {
		return nil, nil, false
	}
	p, _ := f.partition(j.part)
	high := len(first) + len(rest)
	for _, most := range []int{w.maxNodes, p.MaxNodes} {
		if most > 0 {
			high = min(high, most)
		}
	}
	for count := max(w.minNodes, p.MinNodes, len(first), 1); count <= high; count++ {
		if shares, per, ok := f.fitOn(w, f.choose(w, first, rest, count, gpus), gpus, cpus); ok {
			return shares, per, true
		}
	}
	return nil, nil, false
}

// choose returns count nodes in node order: the required ones and, for a total, those
// with most free GPUs (more than the total counts as the total), else the first.
func (f *Fake) choose(w want, first, rest []*node, count int, gpus func(*node) int) []*node {
	others := slices.Clone(rest)
	if w.total > 0 {
		useful := func(n *node) int { return min(gpus(n), w.total) }
		sort.SliceStable(others, func(a, b int) bool { return useful(others[a]) > useful(others[b]) })
	}
	chosen := append(slices.Clone(first), others[:count-len(first)]...)
	sort.SliceStable(chosen, func(a, b int) bool {
		return slices.Index(f.nodes, chosen[a]) < slices.Index(f.nodes, chosen[b])
	})
	return chosen
}

// fitOn splits the request over exactly these nodes: the same number on each, or a total
// filled greedily in node order with at least one on each node.
func (f *Fake) fitOn(w want, nodes []*node, gpus, cpus func(*node) int) ([]slurm.GPUShare, []int, bool) {
	shares, per := make([]slurm.GPUShare, len(nodes)), make([]int, len(nodes))
	left := w.total
	for i, n := range nodes {
		get := w.perNode
		if w.total > 0 {
			get = min(gpus(n), left-(len(nodes)-1-i))
			left -= get
		}
		if get > gpus(n) || get < min(1, w.total) {
			return nil, nil, false
		}
		per[i] = w.cpuShare(i, len(nodes), get)
		if per[i] > cpus(n) {
			return nil, nil, false
		}
		shares[i] = slurm.GPUShare{Node: n.Name, GPUs: get}
	}
	return shares, per, left == 0
}

// cpuShare returns the CPUs on the i-th of n nodes.
func (w want) cpuShare(i, n, gpus int) int {
	if w.perGPU > 0 {
		return max(1, w.perGPU*gpus)
	}
	total := max(w.cpus, w.tasks*w.perTask, n)
	share := total / n
	if i < total%n {
		share++
	}
	return share
}
