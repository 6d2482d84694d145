package predict

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	// parts is the number of folds; each observation is held back once.
	parts = 5
	// fewest is the number of observations from which on some are held back.
	fewest = 6
	// mostCuts is at how many sizes, by GPUs and by nodes, the larger observations are held
	// back.
	mostCuts = 3
)

// ordered sorts observations by their values, so that the order of arrival has no effect.
// It returns a copy.
func ordered(observations []Observation) []Observation {
	out := slices.Clone(observations)
	slices.SortStableFunc(out, Observation.Compare)
	return out
}

// folds returns, for each fold, which observations it holds back; none if there are too few
// observations or groups. The folds are drawn with a fixed seed.
// Groups are dealt in turn to the folds, so these differ by at most one group.
func folds(observations []Observation, together func(Configuration) string) [][]bool {
	groups := grouped(observations, together)
	if len(groups) < fewest {
		return nil
	}
	out := make([][]bool, parts)
	for i := range out {
		out[i] = make([]bool, len(observations))
	}
	for place, g := range rand.New(rand.NewPCG(1, uint64(len(groups)))).Perm(len(groups)) {
		for _, i := range groups[g] {
			out[place%parts][i] = true
		}
	}
	return out
}

// grouped lists the observations that are held back together, in the order of the first.
// Each group has indices into observations.
func grouped(observations []Observation, together func(Configuration) string) [][]int {
	var out [][]int
	known := map[string]int{}
	for i, o := range observations {
		if together == nil {
			out = append(out, []int{i})
			continue
		}
		word := together(o.Configuration)
		at, ok := known[word]
		if !ok {
			at = len(out)
			known[word], out = at, append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	return out
}

// cuts holds back all observations above some size, by GPUs and by nodes, which is how a
// prediction for more of them than measured is made. At least two sizes remain. The largest cut
// is first.
func cuts(observations []Observation) [][]bool {
	if len(observations) < fewest {
		return nil
	}
	gpus := func(o Observation) int { return o.GPUs() }
	nodes := func(o Observation) int { return len(o.Split) }
	return append(cutsBy(observations, gpus, 2), cutsBy(observations, nodes, 1)...)
}

// cutsBy keeps at least leave sizes.
// For example, of observations at 1, 2, 4 and 8 GPUs with leave 2: one cut holds back those at 8, one
// those at 4 and 8.
func cutsBy(observations []Observation, size func(Observation) int, leave int) [][]bool {
	var sizes []int
	for _, o := range observations {
		sizes = append(sizes, size(o))
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var out [][]bool
	for i := len(sizes) - 1; i >= leave && len(out) < mostCuts; i-- {
		held := make([]bool, len(observations))
		for k, o := range observations {
			held[k] = size(o) >= sizes[i]
		}
		out = append(out, held)
	}
	return out
}

// extent is the measured range.
// Each pair is the least and the most: GPUs, nodes, GPUs on the fullest node, other jobs beside, and
// a GPU's part of the batch.
type extent struct {
	gpus, nodes, fullest, beside [2]int
	part                         [2]float64
	kinds                        []string
}

// extentOf returns the range of at least one observation.
func extentOf(observations []Observation) extent {
	e := extent{kinds: kindsOf(observations)}
	for i, o := range observations {
		first := i == 0
		reach(&e.gpus, o.GPUs(), first)
		reach(&e.nodes, len(o.Split), first)
		reach(&e.fullest, o.fullest(), first)
		reach(&e.beside, o.Beside, first)
		reach(&e.part, o.part(), first)
	}
	return e
}

// reach extends a range to x; the first x begins it.
func reach[T cmp.Ordered](to *[2]T, x T, first bool) {
	if first {
		*to = [2]T{x, x}
	}
	to[0], to[1] = min(to[0], x), max(to[1], x)
}

// holds reports whether a configuration is inside the measured range.
// A type of GPU that was not observed is outside.
func (e extent) holds(c Configuration) bool {
	return among(e.gpus, c.GPUs()) && among(e.nodes, len(c.Split)) && among(e.fullest, c.fullest()) &&
		among(e.beside, c.Beside) && among(e.part, c.part()) && slices.Contains(e.kinds, c.Kind)
}

func among[T cmp.Ordered](of [2]T, x T) bool { return of[0] <= x && x <= of[1] }
