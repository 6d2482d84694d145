package predict

import "slices"

// kindsOf lists the observed GPU types, sorted.
func kindsOf(observations []Observation) []string {
	var out []string
	for _, o := range observations {
		out = append(out, o.Kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// share returns 1 for a configuration's own type and 0 for others; for a type that was not
// observed, an equal part of each.
// The parts of all types add up to 1.
func share(c Configuration, kinds []string, k int) float64 {
	if !slices.Contains(kinds, c.Kind) {
		return 1 / float64(len(kinds))
	}
	if kinds[k] == c.Kind {
		return 1
	}
	return 0
}
