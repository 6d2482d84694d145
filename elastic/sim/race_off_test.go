//go:build !race

package sim_test

// underRace: see race_on_test.go.
const underRace = false
