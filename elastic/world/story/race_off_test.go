//go:build !race

package story_test

// underRace: see race_on_test.go.
const underRace = false
