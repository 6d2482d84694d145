package workload

import (
	"fmt"
	"math"
)

// Assumed is a speed that was not measured: one observed time, extended to other sizes by
// Amdahl's law with a cost for every further node,
//
//	t(g, n) ~ (Serial + (1-Serial)/g) * (1 + PerNode*(n-1))
//
// It serves recordings that say how long a job ran at one size and no more.
type Assumed struct {
	// Unit is the observed time of a unit of work in seconds, above 0, on
	// Reference GPUs (0 = 1) that lay on Nodes nodes (0 = 1).
	Unit      float64
	Reference int
	Nodes     int
	// Serial is the fraction of a unit on one GPU that does not divide, 0..1.
	// 0 is perfect scaling; 0.02 halves the efficiency at 51 GPUs.
	Serial float64
	// PerNode is what each node beyond the first adds to a unit, as a fraction,
	// at least 0.
	PerNode float64
}

// Seconds returns the assumed time of a unit on the split; +Inf without GPUs.
func (a Assumed) Seconds(split []int) float64 {
	gpus := 0
	for _, g := range split {
		gpus += g
	}
	if gpus < 1 {
		return math.Inf(1)
	}
	return a.Unit * a.relative(gpus, len(split)) / a.relative(max(a.Reference, 1), max(a.Nodes, 1))
}

// relative is the time of a unit in multiples of its time on one GPU.
func (a Assumed) relative(gpus, nodes int) float64 {
	return (a.Serial + (1-a.Serial)/float64(gpus)) * (1 + a.PerNode*float64(nodes-1))
}

// Validate reports the first field that is out of its range.
func (a Assumed) Validate() error {
	switch {
	case !(a.Unit > 0) || math.IsInf(a.Unit, 0):
		return fmt.Errorf("assumed seconds a unit %v: want a number above 0", a.Unit)
	case a.Reference < 0 || a.Nodes < 0:
		return fmt.Errorf("assumed reference of %d GPUs on %d nodes: neither may be negative", a.Reference, a.Nodes)
	case !(a.Serial >= 0 && a.Serial <= 1):
		return fmt.Errorf("assumed serial fraction %v: want 0 to 1", a.Serial)
	case !(a.PerNode >= 0) || math.IsInf(a.PerNode, 0):
		return fmt.Errorf("assumed cost of a node %v: want a number from 0 up", a.PerNode)
	}
	return nil
}

// String is the assumption in plain words, for notes and reports.
func (a Assumed) String() string {
	return fmt.Sprintf("%g%% of the work does not divide, each further node costs %g%%", 100*a.Serial, 100*a.PerNode)
}
