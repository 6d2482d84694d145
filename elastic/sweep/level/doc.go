// Package level divides GPUs between sweeps: which sweep has converged, what one more trial of
// each is worth, and how many lanes each sweep gets.
//
// Rule is that of system D (dynamic priority of hyper-parameter sweeps): once more than
// After * Best trials of a sweep are done, the mean gap between neighbours among its Best best
// results is compared with a threshold, and with its own recent mean. If it is below the
// threshold, or about its recent mean, the sweep has converged enough: its level rises by one,
// that is, its priority falls, and the next threshold counts. The level falls again when GPUs idle.
//
// Bid is one number that compares any two sweeps: what a GPU-second more is worth to each.
//
// Divide is pure and knows no Slurm: sweeps with bids, levels and wishes become numbers of lanes.
package level
