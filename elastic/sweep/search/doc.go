// Package search says which point of a sweep's space is tried next.
//
// Suggest is a pure function of the problem (space, seed, settings) and of the trials that were
// asked for so far. Suggestion i is made from the trials before it, so n suggestions at once are
// the same as n one after the other, and a sweep whose daemon is killed in between goes on with the
// suggestions it would have had. The order in which trials are listed has no effect.
//
//   - random: evenly over the space (Bergstra and Bengio, JMLR 13, 2012).
//   - grid: every combination of values, the last parameter first.
//   - sobol: a scrambled Sobol sequence, more even than random (Joe and Kuo, SISC 30, 2008; Owen,
//     1998).
//   - tpe: tree-structured Parzen estimator (Bergstra et al., NIPS 2011), multivariate (Falkner et
//     al., BOHB, ICML 2018); running trials count as bad ones (constant liar).
//   - gp: expected improvement under a Gaussian process with a Matern 5/2 kernel (Snoek et al.,
//     NIPS 2012); running trials count as the mean expects (kriging believer).
//   - pbt: population based training (Jaderberg et al., 2017): trials that fall behind are replaced
//     by copies of leading ones, with changed parameters.
//
// What a caller MUST do:
//
//   - Check a Problem once, BEFORE the first Suggest, and then keep it as it is. Another seed, method
//     or space makes other suggestions from the same trials. Trials of points that a changed space
//     does not have stay in the history, and models see what of them is left.
//   - Put every suggestion into the history (Suggestion.Observation) BEFORE it asks for the next one,
//     also if it was not started yet. Else the same point is suggested again.
//   - Keep trials in the history whatever becomes of them. A suggestion follows from how many points
//     there are: without a failed trial all suggestions after it would be others.
//
// Suggest and Losers change neither the problem nor the history, and may run in any goroutine.
// Costs of one suggestion, with n trials: random, and sobol without constraints, O(n); tpe O(n)
// with a factor of 64 candidates; grid the whole grid; gp O(n^3), n at most 240.
package search
