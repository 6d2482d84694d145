package speed

import "time"

// Shape is a number of GPUs on a number of nodes, the configuration that a time belongs to.
type Shape struct {
	GPUs  int // at least 1
	Nodes int // at least 1, at most GPUs
}

// Sample is one observation: a unit of work (an epoch or a step, as the job counts) took
// Seconds in this shape.
// Samples that are not usable are not an error: Fit leaves them out.
type Sample struct {
	Shape
	Seconds float64 // > 0, finite
	Units   float64 // number of units that the observation averages over, > 0; its weight
	At      time.Time
	// Kind is the type of the GPUs, as Slurm's GRES names it; "" = without a name, or not
	// known. Of several types it is all, as KindOf joins them.
	Kind string `json:",omitempty"`
	// Split is the GPUs on each node, such as "4,2", largest first; "" = not known.
	Split string `json:",omitempty"`
	// Beside is the number of other jobs on these nodes at the time.
	Beside int `json:",omitempty"`
}
