//go:build race

package command

// underRace: the race detector makes everything ten times slower, so large counts are
// reduced to a fifth.
const underRace = true
