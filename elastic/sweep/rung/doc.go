// Package rung says which trials of a sweep go on and which are paused: asynchronous successive
// halving, the variant that stops (ASHA; Li et al., A System for Massively Parallel
// Hyperparameter Tuning, MLSys 2020; the variant is that of Klein et al., Model-based
// Asynchronous Hyperparameter and Neural Architecture Search, 2020, section 3.1).
//
// A rung is a number of epochs. A trial that reaches it goes on if its metric is among the best
// 1/Reduction of all that reached it. Verdicts is a pure function of all curves, so a daemon that
// was killed comes to the same verdicts; a report that comes late only adds to a rung.
package rung
