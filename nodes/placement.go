package nodes

import (
	"fmt"
	"strings"
)

// Share is a job's GPUs on one node.
type Share struct {
	Node string `json:"node"`
	GPUs int    `json:"gpus"`
}

// Placement is where a job's GPUs are, one Share per node, in Slurm's node order. The
// zero value is no placement.
type Placement []Share

// GPUs returns the total.
func (p Placement) GPUs() int {
	n := 0
	for _, s := range p {
		n += s.GPUs
	}
	return n
}

// Split returns the GPUs on each node, in order.
func (p Placement) Split() []int {
	out := make([]int, len(p))
	for i, s := range p {
		out[i] = s.GPUs
	}
	return out
}

// Nodes returns the node names in order.
func (p Placement) Nodes() []string {
	out := make([]string, len(p))
	for i, s := range p {
		out[i] = s.Node
	}
	return out
}

// On returns the GPUs held on the node.
func (p Placement) On(node string) int {
	for _, s := range p {
		if s.Node == node {
			return s.GPUs
		}
	}
	return 0
}

// Even reports whether every node holds the same number; true when empty.
func (p Placement) Even() bool {
	for _, s := range p {
		if s.GPUs != p[0].GPUs {
			return false
		}
	}
	return true
}

// Equal reports whether both have the same shares in the same order.
func (p Placement) Equal(q Placement) bool {
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// String formats the placement as "gpu1:4+gpu2:1"; "-" when empty.
func (p Placement) String() string {
	if len(p) == 0 {
		return "-"
	}
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = fmt.Sprintf("%s:%d", s.Node, s.GPUs)
	}
	return strings.Join(parts, "+")
}
