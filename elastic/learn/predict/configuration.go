package predict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Configuration is where and how a job trains.
type Configuration struct {
	// Split is the GPUs on each node, each at least 1.
	Split []int
	// Kind is the kind of GPU, as the site calls it; "" where there is but one.
	Kind string
	// Batch is the examples a GPU works on in a step. 0 is a batch that all GPUs share,
	// the same whatever their number: then a GPU's part is one over their number. A
	// job's observations all have a batch or all have none.
	Batch float64
	// Beside is the other jobs on those nodes.
	Beside int
}

// GPUs is their number.
func (c Configuration) GPUs() int {
	sum := 0
	for _, g := range c.Split {
		sum += g
	}
	return sum
}

// part is what one GPU works on in a step, in examples or in whole batches.
func (c Configuration) part() float64 {
	if c.Batch > 0 {
		return c.Batch
	}
	return 1 / float64(c.GPUs())
}

func (c Configuration) fullest() int  { return slices.Max(c.Split) }
func (c Configuration) emptiest() int { return slices.Min(c.Split) }
func (c Configuration) spans() bool   { return len(c.Split) > 1 }

// Observation is a configuration somebody measured.
type Observation struct {
	Configuration
	Seconds float64 // a step or a unit of work
	// Compute is the part of Seconds in which a GPU computed rather than waited for
	// others; 0 = not known. Only Pollux's form looks at it.
	Compute float64
	// Weight is how many observations it stands for, above 0; 0 = 1.
	Weight float64
}

func (o Observation) weight() float64 {
	if o.Weight == 0 {
		return 1
	}
	return o.Weight
}

// Compare orders observations by GPUs, split, kind of GPU and whatever else they say.
func (o Observation) Compare(p Observation) int {
	return cmp.Or(cmp.Compare(o.GPUs(), p.GPUs()), cmp.Compare(len(o.Split), len(p.Split)), slices.Compare(o.Split, p.Split), cmp.Compare(o.Kind, p.Kind),
		cmp.Compare(o.Batch, p.Batch), cmp.Compare(o.Beside, p.Beside), cmp.Compare(o.Seconds, p.Seconds), cmp.Compare(o.weight(), p.weight()))
}

// ErrNothing says that there are no observations.
var ErrNothing = errors.New("nothing was measured yet; let the model train at two sizes or more")

// Unusable is an observation that nothing can follow from.
type Unusable struct {
	Index int // from 0
	Why   string
}

func (e *Unusable) Error() string { return fmt.Sprintf("observation %d: %s", e.Index, e.Why) }

// Check returns the first thing wrong with observations: ErrNothing or *Unusable.
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

// most bounds what a configuration may say of itself, so that every later product is
// finite.
const most = 1e9

func (o Observation) wrong() string {
	sane := func(x float64) bool { return x > 1e-9 && x < 1e12 } // as elastic/learn/speed; NaN fails
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
