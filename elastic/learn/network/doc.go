// Package network is a small neural network that learns one number from a few: fully
// connected, one hidden layer of tanh, a linear output. It knows nothing of jobs.
//
// It is trained by Adam (Kingma and Ba, ICLR 2015) on Huber's loss, a counted number of
// steps from a seed: the same examples in the same order give the same network. Garbage
// is refused with an error; a network answers every finite question with a finite number.
package network
