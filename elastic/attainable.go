package elastic

import "github.com/sluice-hpc/sluice/nodes"

// Attainable returns those of the sizes that the job could have if it were alone on all nodes
// of its partition, including nodes that are down or drained. Slurm gives all GPUs on one node,
// or the same number on each of several; other splits count only if the job allows them.
func Attainable(j Job, inventory []nodes.Node, sizes []int) []int {
	whole := make([]nodes.Node, len(inventory))
	for i, n := range inventory {
		whole[i] = n.Empty()
		whole[i].Usable = true
	}
	var out []int
	for _, size := range sizes {
		r := j.Request(Limits{ShareNodes: true})
		r.GPUs, r.Sizes = size, []int{size}
		if len(nodes.Place(whole, []nodes.Request{r})[0].Placement) > 0 {
			out = append(out, size)
		}
	}
	return out
}
