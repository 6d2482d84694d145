//go:build race

package story_test

// underRace: see elastic/world/race_on_test.go. Under the race detector a third of the sampled effects are
// tried; "make test" runs the package a second time without it.
const underRace = true
