package engine

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestPromisedBefore: a daemon that is started again takes for promised who runs and wants
// nothing without a promise.
func TestPromisedBefore(t *testing.T) {
	due := time.Unix(2e9, 0)
	for name, c := range map[string]struct {
		spec elastic.Spec
		ran  time.Time
		want bool
	}{
		"hard, and it ran":   {elastic.Spec{Deadline: due}, time.Unix(1e9, 0), true},
		"hard, and it waits": {elastic.Spec{Deadline: due}, time.Time{}, false},
		"soft":               {elastic.Spec{Deadline: due, Soft: true}, time.Unix(1e9, 0), false},
		"no deadline":        {elastic.Spec{}, time.Unix(1e9, 0), false},
	} {
		if got := promisedBefore(JobRecord{Tag: elastic.Tag{Spec: c.spec}, FirstRun: c.ran}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
