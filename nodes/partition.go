package nodes

import "strings"

// Partition is a partition in a snapshot: one of Slurm's, or a virtual one, which is a
// subset of its nodes and exists in the snapshot only. Virtual partitions are made for
// reservations, for the nodes that a job's constraint accepts, and for each node of an
// edge pool.
type Partition struct {
	Slurm string // its name in Slurm
	// Part identifies the nodes of a virtual partition, in text without a comma: for an
	// edge pool the name of the node.
	Part    string
	virtual bool
}

// part separates the name in Slurm from the part; partition names in Slurm do not contain
// it.
const part = "@"

// PartOf makes a virtual partition of some nodes of another one, which may be virtual
// itself.
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

// String is the name used in Node.Partitions and in lists of partitions.
func (p Partition) String() string {
	if !p.virtual {
		return p.Slurm
	}
	return p.Slurm + part + p.Part
}
