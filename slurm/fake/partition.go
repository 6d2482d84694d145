package fake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// States that an administrator may set a partition to.
const (
	PartitionUp       = "UP"
	PartitionDown     = "DOWN"     // jobs are accepted and not started
	PartitionDrain    = "DRAIN"    // jobs are started and not accepted
	PartitionInactive = "INACTIVE" // neither; changes of its jobs are answered as refused, and made
)

// AddPartition makes a partition of these nodes, in addition to those they are in. Its
// limits are those that SetLimits has for the name.
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

// SetPartitionState sets a partition's state from now on; it overrides SetLimits.
func (f *Fake) SetPartitionState(name, state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[name] = state
	f.logf("partition %s %s", name, state)
	f.schedule()
}

// partition returns a partition's limits and state; a partition without settings has no
// limits.
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

// closed is the reason for which the job's partition does not start it; "" if it would.
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

// anyTime reports whether the job's QOS lifts its partition's MaxTime; the QOS of the
// partition does not.
func (f *Fake) anyTime(j *job) bool {
	own := f.order(j.qos)
	return own != nil && own.AnyTime
}

// shut is Slurm's text if the partition does not allow a name; an empty list allows all
// names.
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

// takes refuses a job that its partition does not accept. A partition may accept a job
// that it does not start.
func (f *Fake) takes(j *job) *failure {
	if _, state := f.partition(j.part); state == PartitionDrain || state == PartitionInactive {
		return fail(slurm.ErrRefused, "Batch job submission failed: Required partition not available (inactive or drain)")
	}
	return nil
}

// answered is the answer to a change that was made: in an inactive partition, a refusal.
func (f *Fake) answered(j *job) *failure {
	if _, state := f.partition(j.part); state == PartitionInactive {
		return fail(slurm.ErrRefused, "Requested partition configuration not available now")
	}
	return nil
}

// limitOf is the time limit of a run of the job, 0 if unlimited; a job without a limit
// gets its partition's at its start.
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

// cpusOf is the number of CPUs of a node that the job's partition may use.
func (f *Fake) cpusOf(j *job, n *node) int {
	if p, _ := f.partition(j.part); p.CPUsPerNode > 0 {
		return min(n.CPUs, p.CPUsPerNode)
	}
	return n.CPUs
}

// cpusFree is the number of these CPUs that are free.
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
