package predict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Configuration is an allocation and how a job trains on it.
type Configuration struct {
	// Split is the GPUs on each node, each at least 1.
	Split []int
	// Kind is the GPU type, as the site names it; "" if there is only one.
	Kind string
	// Batch is the number of examples that a GPU works on in a step. 0 means a fixed batch
	// shared by all GPUs: each GPU's part is then one over their number. All observations of a
	// job have a batch, or none has.
	Batch float64
	// Beside is the number of other jobs on those nodes.
	Beside int
}

// GPUs returns the number of GPUs.
func (c Configuration) GPUs() int {
	sum := 0
	for _, g := range c.Split {
		sum += g
	}
	return sum
}

// part returns what one GPU works on in a step, in examples or in whole batches.
func (c Configuration) part() float64 {
	if c.Batch > 0 {
		return c.Batch
	}
	return 1 / float64(c.GPUs())
}

// fullest, emptiest and spans are of a valid configuration: a split has at least one node.
func (c Configuration) fullest() int  { return slices.Max(c.Split) }
func (c Configuration) emptiest() int { return slices.Min(c.Split) }
func (c Configuration) spans() bool   { return len(c.Split) > 1 }

// Observation is a configuration that was measured.
type Observation struct {
	Configuration
	Seconds float64 // of a step or a unit of work
	// Compute is the part of Seconds in which a GPU computes rather than waits for others; 0 =
	// not known. Only Pollux's form uses it.
	Compute float64
	// Weight is how many observations this one stands for, above 0; 0 = 1.
	Weight float64
}

// weight returns Weight, or 1 where it is not set.
func (o Observation) weight() float64 {
	if o.Weight == 0 {
		return 1
	}
	return o.Weight
}

// Compare orders observations by GPUs, split, GPU type and all other fields. It returns -1, 0
// or +1.
func (o Observation) Compare(p Observation) int {
	return cmp.Or(cmp.Compare(o.GPUs(), p.GPUs()), cmp.Compare(len(o.Split), len(p.Split)), slices.Compare(o.Split, p.Split), cmp.Compare(o.Kind, p.Kind),
		cmp.Compare(o.Batch, p.Batch), cmp.Compare(o.Beside, p.Beside), cmp.Compare(o.Seconds, p.Seconds), cmp.Compare(o.weight(), p.weight()))
}

// ErrNothing: there are no observations.
var ErrNothing = errors.New("nothing was measured yet; let the model train at two sizes or more")

// Unusable is an observation that cannot be used.
type Unusable struct {
	Index int // from 0
	Why   string
}

// Error returns what is wrong, with the index of the observation.
func (e *Unusable) Error() string { return fmt.Sprintf("observation %d: %s", e.Index, e.Why) }

// Check returns the first error in observations: ErrNothing or *Unusable.
func Check(observations []Observation) error {
	if len(observations) == 0 {
		return ErrNothing
	}
	for i, o := range observations {
		if why := o.wrong(); why != "" {
			return &Unusable{i, why}
		}
		if (o.Batch > 0) != (observations[0].Batch > 0) {
			return &Unusable{i, "some observations have a batch and some have none"}
		}
	}
	return nil
}

// most bounds the numbers of a configuration, so that every later product is finite.
const most = 1e9

// wrong returns why an observation cannot be used; "" if it can.
func (o Observation) wrong() string {
	sane := func(x float64) bool { return x > 1e-9 && x < 1e12 } // the bounds of elastic/learn/speed; NaN fails
	switch {
	case o.Configuration.wrong() != "":
		return o.Configuration.wrong()
	case !sane(o.Seconds):
		return fmt.Sprintf("%g seconds: want more than 0", o.Seconds)
	case o.Compute != 0 && !sane(o.Compute):
		return fmt.Sprintf("%g seconds of computing: want more than 0", o.Compute)
	case o.Weight != 0 && !sane(o.Weight):
		return fmt.Sprintf("weight %g: want more than 0", o.Weight)
	}
	return ""
}

// wrong returns why a configuration is not valid; "" if it is.
func (c Configuration) wrong() string {
	if len(c.Split) == 0 {
		return "no nodes"
	}
	for _, g := range c.Split {
		if g < 1 || g > most {
			return fmt.Sprintf("%d GPUs on a node: want 1 or more", g)
		}
	}
	if !(c.Batch >= 0 && c.Batch <= most) {
		return fmt.Sprintf("a batch of %g: want more than 0, or 0 for one that all GPUs share", c.Batch)
	}
	if c.Beside < 0 || c.Beside > most {
		return fmt.Sprintf("%d jobs beside: want 0 or more", c.Beside)
	}
	return ""
}
