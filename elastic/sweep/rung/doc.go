// Package rung says which trials of a sweep go on and which are paused: asynchronous successive
// halving, the variant that stops (ASHA; Li et al., A System for Massively Parallel
// Hyperparameter Tuning, MLSys 2020; the variant is that of Klein et al., Model-based
// Asynchronous Hyperparameter and Neural Architecture Search, 2020, section 3.1).
//
// A rung is a number of epochs. A trial that reached it goes on while its metric is among the best
// 1/Reduction of all that reached it: it is judged again with every report, not only when it
// arrives, so a trial that later ones overtake is paused then. A paused trial that is among the
// best of its rung again, because later ones were worse, goes on before new ones are asked for.
//
// Where it is known how long epochs take, a part larger than 1/Reduction goes on of fast trials, and a
// smaller one of slow trials (Board.Pace).
//
// Verdicts is a pure function of all curves, so a daemon that was killed comes to the same
// verdicts; a report that comes late only adds to a rung.
package rung
