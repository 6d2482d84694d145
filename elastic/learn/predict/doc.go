// Package predict says how long a step takes in configurations that nobody measured,
// from those that somebody did. A configuration is a number of GPUs, how they lie on
// nodes, of which kind they are, the batch, and the other jobs beside them.
//
// There are three forms of answer: least squares over terms that are never negative, a
// small neural network (elastic/learn/network), and the seven parameters of Pollux (Qiao et al.,
// OSDI 2021), against which the first two are held. Which form is believed is settled by
// cross-validation, apart for questions within what was measured and for those beyond it:
// a network is good at the first and bad at the second. Pure, and deterministic.
package predict
