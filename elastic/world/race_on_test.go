//go:build race

package world_test

// underRace: the race detector makes everything ten times slower, so that large counts are divided by
// five.
const underRace = true
