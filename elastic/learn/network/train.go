package network

import (
	"math"
	"math/rand/v2"
)

// Example is one input with its output.
// Numbers are within 1e100 in absolute value, weights from 1e-100 to 1e100. A weight below 1e-9 of
// the largest counts as that.
type Example struct {
	In     []float64 // as many numbers as in all other examples, finite
	Out    float64   // finite
	Weight float64   // > 0 and finite; only the ratios of weights count
}

// Options are the parameters of training. The zero value of a field is its default.
// A value below 1 is its default too; so is a Rate that is not between 0 and 1.
type Options struct {
	Hidden  int     // units of the hidden layer; default 16
	Members int     // networks trained from different initial weights, whose mean is the answer; default 3
	Steps   int     // steps of Adam for each member; default 600
	Batch   int     // examples per step, drawn anew each epoch; default 64
	Rate    float64 // length of Adam's first step; it falls along half a cosine to nearly 0; default 0.02
	Seed    uint64
}

// complete fills in the defaults.
func (o Options) complete() Options {
	or := func(v *int, otherwise int) {
		if *v < 1 {
			*v = otherwise
		}
	}
	or(&o.Hidden, 16)
	or(&o.Members, 3)
	or(&o.Steps, 600)
	or(&o.Batch, 64)
	if !(o.Rate > 0 && o.Rate < 1) {
		o.Rate = 0.02
	}
	return o
}

const (
	// knee is where the Huber loss turns from squared to linear, in standard deviations of the
	// output: a few outliers must not dominate.
	knee = 0.5
	// decay is the weight decay, per unit of loss: among networks that fit the examples, the
	// smoother one is preferred.
	decay = 1e-4
)

// Network is a trained network. It takes inputs with as many numbers as its examples, and never
// changes.
// in and out are the scales of the examples, by which inputs and answers are converted.
type Network struct {
	in, out scales
	members []*member
}

// Train learns the examples. Its run time depends on the options, and little on the number of
// examples. Its errors are ErrNoExamples and *BadExample.
//
// The examples are not kept or changed. The cost is members x steps x batch x inputs x hidden units.
// If the output never varies the answer is its mean, for every input.
func Train(examples []Example, o Options) (*Network, error) {
	if err := check(examples); err != nil {
		return nil, err
	}
	o = o.complete()
	n := &Network{in: scalesOf(len(examples[0].In), examples, func(e Example, j int) float64 { return e.In[j] })}
	n.out = scalesOf(1, examples, func(e Example, _ int) float64 { return e.Out })
	all := n.standardised(examples)
	for i := range o.Members {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		m := newMember(len(examples[0].In), o.Hidden, rng)
		m.train(all, o, rng)
		n.members = append(n.members, m)
	}
	return n, nil
}

// train runs all steps of Adam.
// The rate falls as (1 + cos)/2 over the steps.
func (m *member) train(all *examples, o Options, rng *rand.Rand) {
	deck := newDeck(all, o.Batch)
	adam := newAdam(len(m.all))
	slope := make([]float64, len(m.all))
	for step := range o.Steps {
		m.slope(deck.next(rng), slope)
		rate := o.Rate * (0.5 + 0.5*math.Cos(math.Pi*float64(step)/float64(o.Steps)))
		adam.step(m.all, slope, rate)
	}
}

// Answer returns the mean of the networks' outputs for an input; ErrInput if it is not finite
// or has another length than the examples.
// An input that varied in the examples counts up to 10 standard deviations from its mean; one that
// did not vary does not count.
func (n *Network) Answer(in []float64) (float64, error) {
	if len(in) != len(n.in.mean) || !finite(in...) {
		return 0, ErrInput
	}
	x := make([]float64, len(in))
	n.in.apply(in, x)
	sum := 0.0
	for _, m := range n.members {
		sum += m.answer(x)
	}
	return n.out.mean[0] + n.out.spread[0]*sum/float64(len(n.members)), nil
}
