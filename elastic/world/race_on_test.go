//go:build race

package world_test

// underRace: the race detector makes everything ten times slower, so that large counts
// are a fifth of what they are else.
const underRace = true
