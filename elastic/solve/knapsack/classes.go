package knapsack

// Classes builds the classes of a problem one after the other in one array, which is reused for
// the next problem. The zero value is empty and ready.
// The ORDER is Reset, then for each class Add for its options and End once, then All. A class without
// options is allowed; Choose then finds no choice.
type Classes struct {
	options []Option
	ends    []int
	views   [][]Option
}

// Reset removes all classes and keeps the memory.
func (c *Classes) Reset() { c.options, c.ends = c.options[:0], c.ends[:0] }

// Add adds an option to the class being built.
func (c *Classes) Add(weight int, value float64) {
	c.options = append(c.options, Option{weight, value})
}

// End ends the class being built; the next option begins another one.
func (c *Classes) End() { c.ends = append(c.ends, len(c.options)) }

// All returns the classes ended so far, valid until the next call of another
// method.
func (c *Classes) All() [][]Option {
	c.views = c.views[:0]
	first := 0
	for _, end := range c.ends {
		c.views = append(c.views, c.options[first:end:end])
		first = end
	}
	return c.views
}
