package joint_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Two nodes of 4 GPUs and two jobs. To the first job 4 GPUs on one node are worth more than 2
// on each of two; the second job is small and can be anywhere.
func ExampleSearch_Improve() {
	everywhere := [][]int{{0}}
	p := &joint.Problem{
		Nodes: []joint.Node{{Free: 4, CPUs: -1, MemoryMB: -1}, {Free: 4, CPUs: -1, MemoryMB: -1}},
		Jobs: []joint.Job{
			{Groups: everywhere, Sizes: []joint.Size{
				{GPUs: 2, Options: []joint.Option{{Split: []int{2}, Value: 5}}},
				{GPUs: 4, Options: []joint.Option{{Split: []int{4}, Value: 8}, {Split: []int{2, 2}, Value: 6}}},
			}},
			{Groups: everywhere, Sizes: []joint.Size{
				{GPUs: 1, Options: []joint.Option{{Split: []int{1}, Value: 3}}},
				{GPUs: 2, Options: []joint.Option{{Split: []int{2}, Value: 4}}},
			}},
		},
	}
	s := joint.NewSearch(p)
	s.Build([]int{2, 1}, []int{0, 1}) // both at their smallest size, the first job first
	show("built", s.Plan())
	plan := s.Improve(s.Plan(), 100, rand.New(rand.NewPCG(1, 2)))
	show("improved", plan)
	best, _ := joint.Exact(p)
	show("best of all plans", best)
	// Output:
	// built, value 8: job 0 has 2 GPUs on node 0; job 1 has 1 GPUs on node 0;
	// improved, value 12: job 0 has 4 GPUs on node 0; job 1 has 2 GPUs on node 1;
	// best of all plans, value 12: job 0 has 4 GPUs on node 0; job 1 has 2 GPUs on node 1;
}

func show(what string, plan joint.Plan) {
	fmt.Printf("%s, value %g:", what, plan.Value)
	for job, place := range plan.Places {
		for _, share := range place {
			fmt.Printf(" job %d has %d GPUs on node %d;", job, share.GPUs, share.Node)
		}
	}
	fmt.Println()
}
