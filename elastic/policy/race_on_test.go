//go:build race

package policy_test

import (
	"flag"
	"os"
)

// The race detector makes policies some ten times slower, and they run in one goroutine, in which it can
// find nothing. So under it properties draw a fifth of the usual 100 cases. "make test" runs the package
// a second time without it, with all of them; "make properties" draws many more.
const underRace = true

func init() {
	if os.Getenv("RAPID_CHECKS") == "" {
		_ = flag.Set("rapid.checks", "20")
	}
}
