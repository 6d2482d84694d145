package rung

import (
	"math"
	"slices"
)

// Pace takes in how long an epoch of a trial takes, in seconds, above 0. The first one of a trial counts.
//
// At a rung a trial is worth going on by what it may find for each second. So the part of the trials
// that goes on, 1/Reduction, is larger for a trial that is faster than the median, and smaller for a slower
// one: by the ratio of the two paces to the power of paceCounts. A trial whose pace is not known counts
// as one of the median. Lanes that differ in speed, by their GPUs, are taken for trials that do.
func (b *Board) Pace(trial int, seconds float64) {
	if _, known := b.pace[trial]; known || !(seconds > 0) || math.IsInf(seconds, 0) {
		return
	}
	b.pace[trial] = seconds
	at, _ := slices.BinarySearch(b.paces, seconds)
	b.paces = slices.Insert(b.paces, at, seconds)
}

// paceCounts was chosen on 12 tasks of testbench D among 0, .15, .3, .6 and 1: .3 and .6 were equally
// good there.
const paceCounts = .3

// mostKept is the largest part of the trials at a rung that goes on, whatever their paces.
const mostKept = .9

// keeps is Rule.Keeps for one trial: at least the best one goes on.
func (b *Board) keeps(trial, of int) int {
	pace, known := b.pace[trial]
	if !known || of < b.rule.reduction() {
		return b.rule.Keeps(of)
	}
	const nothing = 1e-9 // an even part that is computed a little too small
	part := math.Pow(b.paces[len(b.paces)/2]/pace, paceCounts) / float64(b.rule.reduction())
	return max(1, int(float64(of)*min(part, mostKept)+nothing))
}
