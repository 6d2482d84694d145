package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/elastic"
)

// TestARunnerHonoursAsLongAsSluicedThinks: sluiced does not stop a job whose runner may
// have let it continue.
func TestARunnerHonoursAsLongAsSluicedThinks(t *testing.T) {
	if honours := (runner.Config{}).WithDefaults().Patience; honours != elastic.Honoured {
		t.Errorf("a runner honours a request for %v beyond its deadline, and sluiced counts on %v", honours, elastic.Honoured)
	}
}
