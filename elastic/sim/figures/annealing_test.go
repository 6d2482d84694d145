package figures

import "testing"

// TestGaps: no policy is above the best of all plans, annealing nearly always reaches it, and a
// policy with another objective does not.
func TestGaps(t *testing.T) {
	for _, z := range []size{tinySites[1], tinySites[3]} {
		z.snapshots = 40
		z.gaps(t)
	}
}

func (z size) gaps(t *testing.T) {
	annealing, err := z.gap("annealing")
	if err != nil {
		t.Fatal(err)
	}
	knapsack, err := z.gap("knapsack")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("two types %t: annealing %+v, knapsack %+v", z.typed, annealing, knapsack)
	if annealing.count < 35 || annealing.exact < annealing.count*9/10 || annealing.sum > .005*float64(annealing.count) {
		t.Errorf("two types %t: annealing: %+v", z.typed, annealing)
	}
	if knapsack.count < 35 || knapsack.sum < 2*annealing.sum || knapsack.sum <= 0 {
		t.Errorf("two types %t: knapsack: %+v", z.typed, knapsack)
	}
}

// TestMadeUpSitesOfTwoTypes: half of one has the faster GPUs, and every job is faster there.
func TestMadeUpSitesOfTwoTypes(t *testing.T) {
	s := tinySites[3].snapshot(1)
	if s.Nodes[0].Type != fasterType || s.Nodes[1].Type != measuredType {
		t.Fatalf("%+v", s.Nodes)
	}
	for _, j := range s.Jobs {
		fast, _ := j.Curve.On(fasterType).Split([]int{2})
		slow, _ := j.Curve.On(measuredType).Split([]int{2})
		if by := slow / fast; by < 1 || by > 4 {
			t.Errorf("job %d is %v times as fast", j.ID, by)
		}
	}
}
