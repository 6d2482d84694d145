package bound

import (
	"slices"

	"github.com/sluice-hpc/sluice/nodes"
)

const (
	// fine is the number of nodes up to which every split is looked at, in every
	// order: measured profiles tell splits over few nodes apart, order included.
	fine = 4
	// arrangements bounds how many of those there may be: nodes of many GPUs have
	// every split over fewer nodes instead.
	arrangements = 20_000
	// small is the cluster size in GPUs up to which every number of nodes is
	// looked at; beyond, the fewest and then about every eighth more.
	small = 256
)

// Splits returns what Config.Splits is by default: the splits of n GPUs over the
// free GPUs of the nodes among which a job is taken to be fastest. Over up to 4
// nodes (fewer, where nodes have more than 11 GPUs) that is every split in every
// order; over more nodes the most even one for each number of nodes, which is
// enough for speeds that depend there on GPUs and nodes alone, as those of measured
// profiles and of fitted models do.
func Splits(inventory []nodes.Node) func(n int) [][]int {
	free := room(inventory)
	total := sum(free)
	exact := order(free)
	every := enumerate(free, exact)
	return func(n int) [][]int {
		if n < 1 || n > total {
			return nil
		}
		var out [][]int
		if n < len(every) {
			out = slices.Clone(every[n])
		}
		for k := max(exact+1, fewest(n, free)); k <= min(n, len(free)); {
			out = append(out, level(n, free[:k]))
			if step := k / 8; total > small {
				k += step
			}
			k++
		}
		return out
	}
}

// room is the free GPUs of the nodes that have any, most first.
func room(inventory []nodes.Node) []int {
	var free []int
	for _, n := range inventory {
		if k := n.Free(); k > 0 {
			free = append(free, k)
		}
	}
	slices.SortFunc(free, func(a, b int) int { return b - a })
	return free
}

func sum(xs []int) int {
	total := 0
	for _, x := range xs {
		total += x
	}
	return total
}

// order is the number of nodes up to which all splits are listed.
func order(free []int) int {
	k, lists, all := 0, 1, 0
	for k < min(fine, len(free)) {
		lists *= free[0]
		if all += lists; all > arrangements {
			break
		}
		k++
	}
	return k
}

// enumerate lists every split over up to order nodes, by GPUs.
func enumerate(free []int, order int) [][][]int {
	if order == 0 {
		return nil
	}
	out := make([][][]int, sum(free[:order])+1)
	var extend func(split []int, n int)
	extend = func(split []int, n int) {
		if len(split) > 0 && fits(split, free) {
			out[n] = append(out[n], slices.Clone(split))
		}
		if len(split) == order {
			return
		}
		for g := 1; g <= free[0]; g++ {
			extend(append(split, g), n+g)
		}
	}
	extend(make([]int, 0, order), 0)
	return out
}

// fits reports whether the nodes have room for the split.
func fits(split, free []int) bool {
	need := slices.Clone(split)
	slices.SortFunc(need, func(a, b int) int { return b - a })
	for i, g := range need {
		if i >= len(free) || g > free[i] {
			return false
		}
	}
	return true
}

// fewest is how many nodes n GPUs take at least.
func fewest(n int, free []int) int {
	for k, f := range free {
		if n -= f; n <= 0 {
			return k + 1
		}
	}
	return len(free) + 1
}

// level spreads n GPUs over the nodes as evenly as they have room, at least one
// on each; the nodes are ordered by room and hold n in all.
func level(n int, free []int) []int {
	split := make([]int, len(free))
	for i := len(free) - 1; i >= 0; i-- { // the least roomy first
		split[i] = min(free[i], n/(i+1))
		n -= split[i]
	}
	return split
}
