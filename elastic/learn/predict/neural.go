package predict

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic/learn/network"
)

// Network is a two-layer network over what makes a configuration. It learns by what factor
// least squares is off, in logarithms, so that relative errors count: what grows without
// bound is left to terms that do, and where nothing was measured the network says little.
var Network = networkOf(network.Options{Seed: 1})

// NetworkAlone learns the logarithm of seconds with nothing beneath, to show what
// least squares is good for.
var NetworkAlone = Form{"network alone", fitAlone}

func networkOf(o network.Options) Form {
	return Form{"network", func(observations []Observation) (Predictor, error) {
		base, err := fitLeastSquares(observations)
		if err != nil {
			return nil, err
		}
		return learn(observations, base, o)
	}}
}

func fitAlone(observations []Observation) (Predictor, error) {
	return learn(observations, func(Configuration) float64 { return 1 }, network.Options{Seed: 1})
}

// learn trains the network on the factors by which observations are off a base.
func learn(observations []Observation, base Predictor, o network.Options) (Predictor, error) {
	kinds := kindsOf(observations)
	examples := make([]network.Example, len(observations))
	for i, seen := range observations {
		off := math.Log(seen.Seconds / base(seen.Configuration))
		examples[i] = network.Example{In: features(seen.Configuration, kinds), Out: off, Weight: seen.weight()}
	}
	n, err := network.Train(examples, o)
	if err != nil {
		return nil, err
	}
	return bounded(func(c Configuration) float64 {
		off, err := n.Answer(features(c, kinds))
		if err != nil {
			return math.NaN() // of a configuration that cannot be
		}
		return base(c) * math.Exp(off)
	}), nil
}

// features is what the network is told of a configuration.
func features(c Configuration, kinds []string) []float64 {
	g, n, across := float64(c.GPUs()), float64(len(c.Split)), when(c.spans())
	out := []float64{
		math.Log(g), 1 / g, when(g > 1), // how many
		math.Log(n), across, g * across, // over how many nodes
		float64(c.fullest()), float64(c.emptiest()), float64(c.Beside), // who shares one
		math.Log(c.part()), c.part(),
	}
	for k := range kinds {
		out = append(out, share(c, kinds, k))
	}
	return out
}
