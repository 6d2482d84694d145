package elastic

import (
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
)

// Bill is how Slurm computes the billing of jobs in a partition from their resources. Source:
// slurm.conf(5), TRESBillingWeights and PriorityFlags.
type Bill struct {
	CPU, MB, Node, GPU float64
	Types              map[string]float64 // weight per GPU of a type, added to GPU
	// Largest: the largest item counts, not the sum (MAX_TRES). GRES: the sum of the largest of
	// CPUs, memory and nodes and of all GPUs (MAX_TRES_GRES).
	Largest, GRES bool
}

// size is the amount of each billed resource.
type size struct {
	gpus, nodes, cpus, mb int
	types                 map[string]int
}

// of returns the billing of a size. Slurm rounds it down.
func (b Bill) of(n size) int {
	base := [...]float64{b.CPU * float64(n.cpus), b.MB * float64(n.mb), b.Node * float64(n.nodes)}
	gres := b.GPU * float64(n.gpus)
	most := max(base[0], base[1], base[2])
	sum := base[0] + base[1] + base[2]
	largest := max(most, gres)
	for kind, weight := range b.Types {
		w := weight * float64(n.types[kind])
		gres, largest = gres+w, max(largest, w)
	}
	switch {
	case b.GRES:
		return whole(most + gres)
	case b.Largest:
		return whole(largest)
	}
	return whole(sum + gres)
}

func whole(billing float64) int { return int(min(max(0, billing), mostUse)) }

// billed returns the billing of the size in the job's most expensive partition, or, for a cap
// that is a minimum, in the cheapest.
func (c Cap) billed(j *Job, n size) int {
	out, found := 0, false
	for _, p := range strings.Split(j.Partition, ",") {
		b, known := c.Bills[nodes.ParsePartition(p).Slurm]
		if !known {
			b = Bill{CPU: 1}
		}
		switch bill := b.of(n); {
		case !found, c.Least && bill < out, !c.Least && bill > out:
			out, found = bill, true
		}
	}
	return out
}

// anyType returns the GPUs by billed type while their type is not known yet: the type that the
// job names, else the most expensive one, as an upper bound.
func (c Cap) anyType(j *Job, gpus int) map[string]int {
	kind, most := j.Spec.Type(), 0.
	if kind == "" {
		for _, b := range c.Bills {
			for k, w := range b.Types {
				if w > most || w == most && k < kind {
					kind, most = k, w
				}
			}
		}
	}
	return map[string]int{kind: gpus}
}

// bill returns the billing of the job at a place.
func (c Cap) bill(j *Job, at nodes.Placement, s *Snapshot) int {
	n := size{gpus: at.GPUs(), nodes: len(at), types: map[string]int{}}
	for _, b := range c.Bills {
		for kind := range b.Types {
			n.types[kind] = ofType(j, at, s, kind)
		}
	}
	n.cpus, n.mb = needs(j, n.gpus, n.nodes)
	return c.billed(j, n)
}

// ofType returns how many of the job's GPUs at the place may be of the type.
func ofType(j *Job, at nodes.Placement, s *Snapshot, kind string) (n int) {
	for _, share := range at {
		if s.typed(j, share.Node, kind) {
			n += share.GPUs
		}
	}
	return n
}
