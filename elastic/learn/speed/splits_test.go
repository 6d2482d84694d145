package speed_test

import (
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

func TestSplits(t *testing.T) {
	odd := speed.Known(func(split []int) float64 { // 1+3+2 in this order is a little faster
		if fmt.Sprint(split) == "[3 1 2]" {
			return 0.9
		}
		return 1
	})
	for _, c := range []struct {
		name  string
		curve *speed.Curve
		n     int
		grid  speed.Grid
		want  string
	}{
		{"Slurm gives equal shares", nil, 6, speed.Grid{PerNode: 4, Nodes: 6}, "[[3 3] [2 2 2] [1 1 1 1 1 1]]"},
		{"too few nodes", nil, 6, speed.Grid{PerNode: 4, Nodes: 1}, "[]"},
		{"one node", nil, 3, speed.Grid{PerNode: 4, Nodes: 1}, "[[3]]"},
		{"every split, the best order first", odd, 6, speed.Grid{PerNode: 4, Nodes: 3, Any: true}, "[[3 1 2] [4 2] [3 3] [4 1 1] [2 2 2]]"},
		{"many nodes: the most even", odd, 11, speed.Grid{PerNode: 2, Nodes: 6, Any: true}, "[[2 2 2 2 2 1]]"},
	} {
		got := [][]int{}
		for _, s := range c.curve.Splits(c.grid, c.n)[0] {
			got = append(got, s.Split)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}
