//go:build !race

package world_test

import "testing"

// underRace: see race_on_test.go.
const underRace = false

// unraced: see race_on_test.go.
func unraced(*testing.T) {}
