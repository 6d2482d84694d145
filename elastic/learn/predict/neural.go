package predict

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic/learn/network"
)

// Network is a network with one hidden layer over the features of a configuration. It learns
// the logarithm of the factor by which least squares is off, so that relative errors count.
// Unbounded growth is left to the terms of least squares, and outside the measured range the
// network changes little.
var Network = networkOf(network.Options{Seed: 1})

// NetworkAlone learns the logarithm of seconds without least squares, to show what that
// contributes.
var NetworkAlone = Form{"network alone", fitAlone}

// networkOf returns the form of Network with these options.
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

// learn trains the network on the factors by which a base is off the observations.
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
			return math.NaN() // for a configuration that is not valid
		}
		return base(c) * math.Exp(off)
	}), nil
}

// features returns the network's inputs for a configuration.
// Numbers that act by ratios are there as logarithms too. kinds are those of the observations: an
// unknown type is a mean of them.
func features(c Configuration, kinds []string) []float64 {
	g, n, across := float64(c.GPUs()), float64(len(c.Split)), when(c.spans())
	out := []float64{
		math.Log(g), 1 / g, when(g > 1), // number of GPUs
		math.Log(n), across, g * across, // number of nodes
		float64(c.fullest()), float64(c.emptiest()), float64(c.Beside), // how many share a node
		math.Log(c.part()), c.part(),
	}
	for k := range kinds {
		out = append(out, share(c, kinds, k))
	}
	return out
}
