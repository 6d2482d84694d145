//go:build !race

package policy_test

// underRace: see race_on_test.go.
const underRace = false
