package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestLengthLine: if a job's declared length is not used, the reason is shown.
func TestLengthLine(t *testing.T) {
	for _, c := range []struct {
		j    wire.Job
		want string
	}{
		{wire.Job{Unit: "epoch", Total: 30}, ""},
		{wire.Job{Unit: "epoch", Total: 30, Stretch: 1.8, StretchJobs: 5}, "expected to take 1.8x its declared epochs, as its user's last 5 jobs did"},
		{wire.Job{Unit: "step", Total: 30, Stretch: 2, StretchJobs: 5, Overruns: true}, "unknown: it has trained beyond its declared 30 steps"},
	} {
		if got := lengthLine(c.j); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
