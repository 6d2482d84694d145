package nodes_test

import (
	"fmt"

	"github.com/sluice-hpc/sluice/nodes"
)

// Three nodes of 4 GPUs, one of which has 2 in use. The request for 2 GPUs fills that node,
// so that the larger one gets two whole nodes.
func ExamplePlace() {
	inventory := []nodes.Node{
		{Name: "gpu1", GPUs: 4, Usable: true, CPUs: 64},
		{Name: "gpu2", GPUs: 4, Used: 2, Usable: true, CPUs: 64},
		{Name: "gpu3", GPUs: 4, Usable: true, CPUs: 64},
	}
	for _, r := range nodes.Place(inventory, []nodes.Request{{ID: 7, GPUs: 2}, {ID: 8, GPUs: 8}, {ID: 9, GPUs: 1}}) {
		fmt.Println(r.ID, r.Placement)
	}
	// Output:
	// 7 gpu2:2
	// 8 gpu1:4+gpu3:4
	// 9 -
}
