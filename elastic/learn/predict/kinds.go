package predict

import "slices"

// kindsOf lists the kinds of GPU observed, in order.
func kindsOf(observations []Observation) []string {
	var out []string
	for _, o := range observations {
		out = append(out, o.Kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// share is 1 for a configuration's own kind and 0 for others; of a kind never observed,
// an equal part of each.
func share(c Configuration, kinds []string, k int) float64 {
	if !slices.Contains(kinds, c.Kind) {
		return 1 / float64(len(kinds))
	}
	if kinds[k] == c.Kind {
		return 1
	}
	return 0
}
