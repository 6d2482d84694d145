package nodes

import "time"

import "strings"

// Node is one machine with GPUs as the planner sees it.
type Node struct {
	Name       string
	Partitions []string
	Type       string   // GPU type, "" when Slurm names none; several types are joined by "+"
	GPUs       int      // configured
	Used       int      // allocated to jobs of any kind, as Slurm counts now
	Usable     bool     // Slurm would start a new job here
	Why        Unusable // why not usable
	CPUs       int
	CPUsUsed   int
	MemoryMB   int64
	MemUsedMB  int64
	// Spanning counts the jobs here that also have other nodes.
	Spanning int
	// Types are its GPUs by type if it has several; nil otherwise.
	Types []OfType
}

// Free returns the unallocated GPUs, 0 when the node is not usable.
func (n Node) Free() int {
	if !n.Usable || n.Used >= n.GPUs {
		return 0
	}
	return n.GPUs - n.Used
}

// InAny reports whether the node belongs to one of a list of partitions, separated by
// commas.
func (n Node) InAny(partitions string) bool {
	for p := range strings.SplitSeq(partitions, ",") {
		if n.In(p) {
			return true
		}
	}
	return false
}

// In reports whether the node belongs to the partition; every node belongs to "".
func (n Node) In(partition string) bool {
	if partition == "" {
		return true
	}
	for _, p := range n.Partitions {
		if p == partition {
			return true
		}
	}
	return false
}

// Unusable is why nothing new is placed on a node; the zero value is none.
type Unusable struct {
	State string    // Slurm's state, such as DRAIN, or one of sluice's own
	Note  string    // the administrator's reason, or what is wrong with its GPUs
	Until time.Time // for Returned: when it is used again
}

// OfSluice reports whether sluice alone keeps new jobs from the node, for a while; Slurm and
// its administrators have nothing against it.
func (u Unusable) OfSluice() bool { return u.State == Unfit || u.State == Returned }

// Sluice's own states of a node.
const (
	Unfit    = "UNFIT"    // a job reported its GPUs as unfit
	Returned = "RETURNED" // it failed, and returned a moment ago
)
