package nvml

// Chosen is chosen, for tests.
func Chosen(env map[string]string) (all bool, indices []int, names []string) {
	c := chosen(env)
	return c.all, c.indices, c.names
}

// MeanOf is meanOf, for tests.
var MeanOf = meanOf
