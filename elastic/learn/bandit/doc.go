// Package bandit estimates the throughput of pairs, such as a model and a node type, that can
// only be learned by using them: the mean of the observations (0 for a pair without any) and a
// bonus for uncertainty (upper confidence bounds; Auer, Cesa-Bianchi & Fischer, Machine
// Learning 47, 2002).
package bandit
