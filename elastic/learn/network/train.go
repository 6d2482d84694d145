package network

import (
	"math"
	"math/rand/v2"
)

// Example is one thing to learn.
type Example struct {
	In     []float64 // as many numbers in all examples, finite
	Out    float64   // finite
	Weight float64   // > 0 and finite; only the ratios of weights count
}

// Options say how to train. The zero value of a field is its default.
type Options struct {
	Hidden  int     // units of the hidden layer; 16
	Members int     // networks trained from different beginnings, whose mean answers; 3
	Steps   int     // of Adam, each member; 600
	Batch   int     // examples looked at in a step, drawn anew each epoch; 64
	Rate    float64 // of Adam's first step; it falls along half a cosine to nearly 0; 0.02
	Seed    uint64
}

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
	// knee is where Huber's loss turns from squared to linear, in standard deviations of
	// what is learned: a few wild examples must not bend the rest.
	knee = 0.5
	// decay pulls weights towards 0, per unit of loss: of two networks that agree with
	// the examples the smoother one is wanted.
	decay = 1e-4
)

// Network answers for inputs of as many numbers as its examples had. It does not change.
type Network struct {
	in, out scales
	members []*member
}

// Train learns the examples. Its time is bounded by the options, hardly by how many
// examples there are. The errors are ErrNoExamples and *BadExample.
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

// train is Adam along all steps.
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

// Answer returns what the networks say of an input, on average; ErrInput where it is not
// finite or not of the examples' length.
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
