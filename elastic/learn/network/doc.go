// Package network is a small neural network that learns one number from a few: fully connected,
// one hidden layer of tanh, a linear output.
//
// It is trained by Adam (Kingma and Ba, ICLR 2015) on the Huber loss, a fixed number of steps
// from a seed: the same examples in the same order give the same network. Invalid examples are
// refused with an error; a network gives a finite number for every finite input.
//
// Train MUST come first; a Network then never changes, so any number of goroutines may call Answer.
// Inputs SHOULD be given in the form in which the output changes evenly, such as logarithms: they
// are standardised, not otherwise transformed.
package network
