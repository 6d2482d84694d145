package bound_test

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sim/bound"
	"github.com/sluice-hpc/sluice/nodes"
	"pgregory.net/rapid"
)

func TestSplits(t *testing.T) {
	busy := append(cluster(2, 4), nodes.Node{Name: "half", GPUs: 4, Used: 2, Usable: true}, nodes.Node{Name: "gone", GPUs: 4})
	for name, tc := range map[string]struct {
		inventory []nodes.Node
		gpus      int
		want      [][]int
	}{
		"one":           {cluster(2, 4), 1, [][]int{{1}}},
		"in each order": {cluster(2, 4), 3, [][]int{{1, 2}, {2, 1}, {3}}},
		"all":           {cluster(2, 4), 8, [][]int{{4, 4}}},
		"too many":      {cluster(2, 4), 9, nil},
		"none":          {cluster(2, 4), 0, nil},
		"only free":     {busy, 10, [][]int{{2, 4, 4}, {4, 2, 4}, {4, 4, 2}}},
		"no nodes":      {nil, 1, nil},
		"five nodes":    {cluster(6, 1), 5, [][]int{{1, 1, 1, 1, 1}}},
		"beyond four":   {cluster(6, 4), 18, [][]int{{4, 4, 4, 3, 3}, {3, 3, 3, 3, 3, 3}}},
		"wide nodes":    {cluster(3, 64), 130, [][]int{{44, 43, 43}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := bound.Splits(tc.inventory)(tc.gpus)
			slices.SortFunc(got, slices.Compare[[]int])
			slices.SortFunc(tc.want, slices.Compare[[]int])
			if !slices.EqualFunc(got, tc.want, slices.Equal[[]int]) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestSplitsCanBeHad: each split fits the nodes, has all GPUs and comes once; and
// each size the cluster has can be split.
func TestSplitsCanBeHad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var inventory []nodes.Node
		total := 0
		for _, g := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 8).Draw(t, "nodes") {
			inventory = append(inventory, nodes.Node{GPUs: g, Usable: true})
			total += g
		}
		splits := bound.Splits(inventory)
		for n := 1; n <= total; n++ {
			list := splits(n)
			if len(list) == 0 {
				t.Fatalf("%d of %d GPUs have no split", n, total)
			}
			slices.SortFunc(list, slices.Compare[[]int])
			for i, s := range list {
				if !fits(inventory, s) || sum(s) != n {
					t.Fatalf("%v is no split of %d GPUs", s, n)
				}
				if i > 0 && slices.Equal(s, list[i-1]) {
					t.Fatalf("%v comes twice", s)
				}
			}
		}
	})
}

func sum(split []int) int {
	n := 0
	for _, g := range split {
		n += g
	}
	return n
}

// fits gives the largest share the roomiest node, and so on.
func fits(inventory []nodes.Node, split []int) bool {
	var room []int
	for _, n := range inventory {
		room = append(room, n.GPUs)
	}
	slices.Sort(room)
	slices.Reverse(room)
	s := slices.Clone(split)
	slices.Sort(s)
	slices.Reverse(s)
	for i, g := range s {
		if g < 1 || i >= len(room) || g > room[i] {
			return false
		}
	}
	return true
}
