// Package bandit keeps what is known of the speeds of pairs, such as a model and a kind
// of node, that are learned only by using them: the mean of what was seen, nought when
// a pair was never tried, and a bonus for what is not known well (upper confidence
// bounds; Auer, Cesa-Bianchi & Fischer, Machine Learning 47, 2002).
package bandit
