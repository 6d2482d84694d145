package figures

import "testing"

// TestGaps: nobody is above the best of all plans, annealing is nearly always at it, and
// a policy with another aim is not.
func TestGaps(t *testing.T) {
	z := tinySites[1]
	z.snapshots = 40
	annealing, err := z.gap("annealing")
	if err != nil {
		t.Fatal(err)
	}
	knapsack, err := z.gap("knapsack")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("annealing %+v, knapsack %+v", annealing, knapsack)
	if annealing.count < 35 || annealing.exact < annealing.count*9/10 || annealing.sum > .005*float64(annealing.count) {
		t.Errorf("annealing: %+v", annealing)
	}
	if knapsack.count < 35 || knapsack.sum < 2*annealing.sum || knapsack.sum <= 0 {
		t.Errorf("knapsack: %+v", knapsack)
	}
}
