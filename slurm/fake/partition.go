package fake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// What an administrator sets a partition's State to.
const (
	PartitionUp       = "UP"
	PartitionDown     = "DOWN"     // jobs are taken and not started
	PartitionDrain    = "DRAIN"    // started and not taken
	PartitionInactive = "INACTIVE" // neither; changes of its jobs are answered as refused, and made
)

// AddPartition makes a partition of these nodes, beside those they are in. What it asks
// of its jobs is what SetLimits says of one of that name.
func (f *Fake) AddPartition(name string, nodes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		if at := f.node(n); at != nil && !slices.Contains(at.Partitions, name) {
			at.Partitions = append(slices.Clone(at.Partitions), name)
		}
	}
	f.schedule()
}

// SetPartitionState sets a partition's state from now on, whatever SetLimits says of it.
func (f *Fake) SetPartitionState(name, state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[name] = state
	f.logf("partition %s %s", name, state)
	f.schedule()
}

// partition is what a partition asks, and its state; one of which nothing was said asks
// nothing.
func (f *Fake) partition(name string) (slurm.Partition, string) {
	p, state := slurm.Partition{Name: name, Up: true}, PartitionUp
	if at := slices.IndexFunc(f.limits.Partitions, func(p slurm.Partition) bool { return p.Name == name }); at >= 0 {
		p = f.limits.Partitions[at]
	}
	if !p.Up {
		state = PartitionDown
	}
	if s := f.states[name]; s != "" {
		state = s
	}
	p.Up = state == PartitionUp || state == PartitionDrain
	return p, state
}

// closed is the reason for which the job's partition does not start it; "" when it would.
func (f *Fake) closed(j *job) string {
	p, state := f.partition(j.part)
	w, limit := j.want, f.limitOf(j)
	switch {
	case state == PartitionDown:
		return "PartitionDown"
	case state == PartitionInactive:
		return "PartitionInactive"
	case p.MaxNodes > 0 && w.minNodes > p.MaxNodes, w.maxNodes > 0 && w.maxNodes < p.MinNodes:
		return "PartitionNodeLimit"
	case p.MaxTime > 0 && (limit == 0 || limit > p.MaxTime) && !f.anyTime(j):
		return "PartitionTimeLimit"
	case !f.limits.Enforced:
		return ""
	}
	return cmp.Or(shut("account", j.account, p, p.AllowAccounts, p.DenyAccounts), shut("QOS", j.qos, p, p.AllowQOS, p.DenyQOS))
}

// anyTime reports whether the job's QOS lifts its partition's MaxTime; the partition's own
// does not.
func (f *Fake) anyTime(j *job) bool {
	own := f.order(j.qos)
	return own != nil && own.AnyTime
}

// shut says in Slurm's words that the partition does not let a name in; no names to allow
// are all of them.
func shut(what, name string, p slurm.Partition, allowed, denied []string) string {
	words := "Job's " + what + " not permitted to use this partition (" + p.Name
	switch {
	case len(allowed) > 0 && !slices.Contains(allowed, name):
		return fmt.Sprintf("%s allows %s not %s)", words, strings.Join(allowed, ","), name)
	case slices.Contains(denied, name):
		return fmt.Sprintf("%s denies %s including %s)", words, strings.Join(denied, ","), name)
	}
	return ""
}

// takes refuses a job that its partition does not take. One that it does not start is
// taken.
func (f *Fake) takes(j *job) *failure {
	if _, state := f.partition(j.part); state == PartitionDrain || state == PartitionInactive {
		return fail(slurm.ErrRefused, "Batch job submission failed: Required partition not available (inactive or drain)")
	}
	return nil
}

// answered is the answer to a change that was made: in an inactive partition that it
// was refused.
func (f *Fake) answered(j *job) *failure {
	if _, state := f.partition(j.part); state == PartitionInactive {
		return fail(slurm.ErrRefused, "Requested partition configuration not available now")
	}
	return nil
}

// limitOf is how long a run of the job may take, 0 being for ever: where nothing was
// asked for what its partition allows when it starts.
func (f *Fake) limitOf(j *job) time.Duration {
	switch {
	case j.state != slurm.Pending:
		return j.granted
	case j.limit > 0 || j.endless:
		return j.limit
	}
	p, _ := f.partition(j.part)
	return p.MaxTime
}

// cpusOf is how many CPUs of a node the job's partition may have at all.
func (f *Fake) cpusOf(j *job, n *node) int {
	if p, _ := f.partition(j.part); p.CPUsPerNode > 0 {
		return min(n.CPUs, p.CPUsPerNode)
	}
	return n.CPUs
}

// cpusFree is how many are left to it.
func (f *Fake) cpusFree(j *job, n *node) int {
	free := n.CPUs - n.cpus
	p, _ := f.partition(j.part)
	if p.CPUsPerNode == 0 {
		return free
	}
	left := p.CPUsPerNode
	for _, o := range f.jobs {
		if o.part == j.part {
			left -= o.cpusOn[n.Name]
		}
	}
	return min(free, left)
}
