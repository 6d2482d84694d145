package knapsack_test

import (
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// Three jobs share 8 GPUs. Each class is one job, each option one size and its value; the
// option of weight 0 lets a job wait.
func ExampleSolver_Choose() {
	jobs := [][]knapsack.Option{
		{{Weight: 0}, {Weight: 1, Value: 1.0}, {Weight: 2, Value: 1.8}, {Weight: 4, Value: 3.1}, {Weight: 8, Value: 4.6}},
		{{Weight: 0}, {Weight: 2, Value: 2.5}, {Weight: 4, Value: 4.0}},
		{{Weight: 0}, {Weight: 1, Value: 0.6}, {Weight: 4, Value: 0.9}},
	}
	var s knapsack.Solver
	a := s.Choose(jobs, 8)
	for job, option := range a.Choice {
		fmt.Printf("job %d: %d GPUs\n", job, jobs[job][option].Weight)
	}
	fmt.Printf("value %.1f, no choice exceeds %.1f\n", a.Value, a.Bound)
	// Output:
	// job 0: 4 GPUs
	// job 1: 4 GPUs
	// job 2: 0 GPUs
	// value 7.1, no choice exceeds 7.1
}

// A job needs 3 GPUs that others have. Each class is a running job, each option a number of
// GPUs that it could give back and its cost in seconds.
func ExampleSolver_Reduce() {
	jobs := [][]knapsack.Option{
		{{Weight: 1, Value: 20}, {Weight: 2, Value: 60}},
		{{Weight: 2, Value: 30}, {Weight: 4, Value: 50}},
	}
	var s knapsack.Solver
	choice, weight, cost, ok := s.Reduce(jobs, 3)
	fmt.Println(choice, weight, "GPUs for", cost, "s;", "enough:", ok)
	// Output:
	// [0 0] 3 GPUs for 50 s; enough: true
}
