package workload

import (
	"math"
	"testing"
)

func TestAssumedSeconds(t *testing.T) {
	observed := Assumed{Unit: 100, Reference: 4, Nodes: 1, Serial: 0.02, PerNode: 0.05}
	for _, c := range []struct {
		name  string
		a     Assumed
		split []int
		want  float64
	}{
		{"the observation itself", observed, []int{4}, 100},
		{"one GPU", observed, []int{1}, 100 / (0.02 + 0.98/4)},
		{"the same size over two nodes", observed, []int{2, 2}, 105},
		{"over three", observed, []int{2, 1, 1}, 110},
		{"perfect scaling", Assumed{Unit: 8}, []int{4, 4}, 1},
		{"nothing divides", Assumed{Unit: 8, Serial: 1}, []int{4, 4}, 8},
		{"observed over two nodes", Assumed{Unit: 11, Reference: 2, Nodes: 2, PerNode: 0.1}, []int{2}, 10},
		{"no GPUs", observed, nil, math.Inf(1)},
	} {
		if got := c.a.Seconds(c.split); math.Abs(got-c.want) > 1e-9*c.want && got != c.want {
			t.Errorf("%s: %v seconds, want %v", c.name, got, c.want)
		}
	}
}

func TestAssumedValidate(t *testing.T) {
	good := Assumed{Unit: 1, Reference: 1, Nodes: 1, Serial: 0.02, PerNode: 0.01}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Assumed{
		{}, {Unit: -1}, {Unit: math.Inf(1)}, {Unit: math.NaN()},
		{Unit: 1, Reference: -1}, {Unit: 1, Nodes: -1},
		{Unit: 1, Serial: 1.1}, {Unit: 1, Serial: math.NaN()},
		{Unit: 1, PerNode: -0.1}, {Unit: 1, PerNode: math.Inf(1)},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

// TestAssumedIsComparable: equal assumptions are equal speeds.
func TestAssumedIsComparable(t *testing.T) {
	var a, b Speeds = Assumed{Unit: 2}, Assumed{Unit: 2}
	if a != b {
		t.Error("equal assumptions differ")
	}
}
