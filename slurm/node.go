package slurm

import "strings"

// Node is one node as the node query shows it.
type Node struct {
	Name       string
	Partitions []string
	Features   []string // the active ones; available features that are not active are ignored
	States     []string // base state first, then flags, upper case: MIXED, DRAIN, NOT_RESPONDING ...
	Reason     string   // the administrator's reason for drain or down
	GPUs       int      // configured, all types together
	GPUType    string   // the type when the node has a single one, else ""
	Types      []OfType // by name, if it has several types; nil otherwise
	GPUsUsed   int      // allocated to jobs of any kind
	Slices     int      // MIG slices configured; not counted as GPUs: a job cannot use several as one GPU
	CPUs       int
	CPUsUsed   int
	MemoryMB   int64
	MemUsedMB  int64 // allocated, not resident
}

// OfType is the GPUs of one type on a node that has several types.
type OfType struct {
	Type       string // "" for GPUs without a type
	GPUs, Used int    // configured, and allocated to jobs of any kind
}

// Kind is the type of the node's GPUs; several types are joined by "+".
func (n Node) Kind() string {
	if len(n.Types) == 0 {
		return n.GPUType
	}
	names := make([]string, len(n.Types))
	for i, t := range n.Types {
		names[i] = t.Type
	}
	return strings.Join(names, "+")
}

// Has returns how many GPUs of the type the node has.
func (n Node) Has(kind string) int {
	for _, t := range n.Types {
		if t.Type == kind {
			return t.GPUs
		}
	}
	if len(n.Types) == 0 && n.GPUType == kind {
		return n.GPUs
	}
	return 0
}

// Is reports whether the node shows the state or flag.
func (n Node) Is(state string) bool {
	for _, s := range n.States {
		if strings.EqualFold(s, state) {
			return true
		}
	}
	return false
}

// unusable lists the states and flags in which Slurm starts nothing new on a node; the
// first that matches is shown to users.
var unusable = []string{"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "NOT_RESPONDING",
	"FUTURE", "UNKNOWN", "MAINT", "RESERVED", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "REBOOT_ISSUED",
	"REBOOT_REQUESTED", "REBOOT", "INVAL", "INVALID_REG", "PLANNED_DOWN"}

// Usable reports whether Slurm would start a new job on the node now, and if not, the
// state that forbids it.
func (n Node) Usable() (ok bool, why string) {
	for _, s := range unusable {
		if n.Is(s) {
			return false, s
		}
	}
	return true, ""
}
