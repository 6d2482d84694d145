//go:build !race

package command

// underRace: see race_on_test.go.
const underRace = false
