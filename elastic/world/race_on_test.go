//go:build race

package world_test

import (
	"flag"
	"os"
	"testing"
)

// underRace: the race detector makes everything some four times slower, and simulations run in one
// goroutine, in which it can find nothing. So under it large counts and numbers of cases are divided by
// five. "make test" runs the package a second time without it, with all cases.
const underRace = true

func init() {
	if os.Getenv("RAPID_CHECKS") == "" { // 100 by default
		_ = flag.Set("rapid.checks", "20")
	}
}

// unraced skips a test that is nothing but a long simulation and cannot do with fewer cases.
func unraced(t *testing.T) {
	t.Helper()
	t.Skip("NOT TESTED under the race detector: one goroutine, and long; make test runs it without")
}
