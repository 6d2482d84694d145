package costate_test

import (
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/solve/costate"
)

// Two jobs share 4 GPUs. The short one needs 100 s on 1 GPU, the long one 1,000 s; both scale
// perfectly. A second of the short job's work delays two jobs, one of the long job's work only
// the long job, which ends last.
func ExampleSolver_Values() {
	linear := func(seconds float64) costate.Hull {
		return costate.NewHull([]costate.Point{{}, {GPUs: 1, Rate: 1 / seconds}, {GPUs: 4, Rate: 4 / seconds}}, nil)
	}
	var s costate.Solver
	values := s.Values([]costate.Hull{linear(100), linear(1000)}, 4) // in the order in which they end
	fmt.Printf("short: %.0f s in all, %.2f for each second on a GPU\n", values[0], values[0]/100)
	fmt.Printf("long: %.0f s in all, %.2f for each second on a GPU\n", values[1], values[1]/1000)
	// Output:
	// short: 50 s in all, 0.50 for each second on a GPU
	// long: 250 s in all, 0.25 for each second on a GPU
}
