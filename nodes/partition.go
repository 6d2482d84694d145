package nodes

import "strings"

// Partition is a partition as a snapshot knows it: one of Slurm's, or a virtual one, which
// is some of its nodes and exists in the snapshot only. Virtual ones are made for
// reservations, for what a job's constraint accepts, and for each node of an edge pool.
type Partition struct {
	Slurm string // its name in Slurm
	// Part says which of its nodes a virtual partition has, in words without a comma: for an
	// edge pool the name of the node.
	Part    string
	virtual bool
}

// part stands between the name in Slurm and the part; Slurm has no such partition names.
const part = "@"

// PartOf makes a virtual partition of some nodes of another, which may be virtual itself.
func PartOf(name, nodes string) Partition {
	p := ParsePartition(name)
	if p.virtual {
		nodes = p.Part + part + nodes
	}
	return Partition{p.Slurm, nodes, true}
}

// ParsePartition reads the name of one partition.
func ParsePartition(name string) (p Partition) {
	p.Slurm, p.Part, p.virtual = strings.Cut(name, part)
	return p
}

// Virtual reports whether the partition exists in a snapshot only.
func (p Partition) Virtual() bool { return p.virtual }

// String is the name by which Node.Partitions and lists of partitions have it.
func (p Partition) String() string {
	if !p.virtual {
		return p.Slurm
	}
	return p.Slurm + part + p.Part
}
