package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/elastic"
)

// TestARunnerHonoursAsLongAsSluicedThinks: sluiced stops no job that may train again.
func TestARunnerHonoursAsLongAsSluicedThinks(t *testing.T) {
	if honours := (runner.Config{}).WithDefaults().Patience; honours != elastic.Honoured {
		t.Errorf("a runner honours a request for %v beyond its deadline, and sluiced counts on %v", honours, elastic.Honoured)
	}
}
