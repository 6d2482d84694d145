package policy

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// TestAStoppedJobKeepsItsReason: a job that is stopped, rather than shrunk to its share, says why.
func TestAStoppedJobKeepsItsReason(t *testing.T) {
	why := reason.Stops{Because: reason.Yields{QOS: "low", Job: 2, GPUs: 3}}
	b := &bounds{jobs: []bound{{Job: elastic.Job{ID: 1}, now: 4, gives: true, beyond: true, pin: 2, sizes: []int{2}}}}
	if got := b.explain(elastic.Allocation{1: {Why: why}})[1].Why; got != reason.Reason(why) {
		t.Errorf("got %s, want %s", reason.String(got), reason.String(why))
	}
}
