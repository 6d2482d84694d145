//go:build !race

package world_test

// underRace: see race_on_test.go.
const underRace = false
