package present

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// What is said of a sweep; a code that is not known is said as it is.
func TestSweepWords(t *testing.T) {
	for end, want := range map[book.End]string{"": "not over", "goal": "the goal is reached", "failures": "7 trials failed", "stopped": "stopped by its user", "eclipse": "eclipse"} {
		if got := SweepEnd(end, 7); got != want {
			t.Errorf("%q: %q", end, got)
		}
	}
	if got := SweepEnd("failures", 1); got != "1 trial failed" {
		t.Error(got)
	}
	if got := SweepLevel(0, 0); got != "no trials are done yet" {
		t.Error(got)
	}
	if got := SweepLevel(20, .0021); got != "after 20 trials the best results are 0.0021 apart on average" {
		t.Error(got)
	}
}
