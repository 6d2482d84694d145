package eligible

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// Users are not shown the virtual partitions that this package makes.

// DemandsAsInSlurm returns the demands with Slurm's partitions. The argument is not changed; the
// result is the caller's.
func DemandsAsInSlurm(demands []elastic.Demand) []elastic.Demand {
	out := slices.Clone(demands)
	for i := range out {
		out[i].Partition = asPartitioned(out[i].Partition)
	}
	return out
}

// NodesAsInSlurm returns the inventory without virtual partitions. The argument is not changed; a
// list without virtual partitions is shared with it.
func NodesAsInSlurm(inventory []nodes.Node) []nodes.Node {
	out := slices.Clone(inventory)
	for i := range out {
		if made := func(p string) bool { return nodes.ParsePartition(p).Virtual() }; slices.ContainsFunc(out[i].Partitions, made) {
			out[i].Partitions = slices.DeleteFunc(slices.Clone(out[i].Partitions), made)
		}
	}
	return out
}

// asPartitioned returns the names of the partitions in Slurm.
func asPartitioned(partitions string) string {
	var names []string
	for _, p := range strings.Split(partitions, ",") {
		if p = nodes.ParsePartition(p).Slurm; !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	return strings.Join(names, ",")
}
