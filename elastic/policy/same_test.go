package policy_test

import (
	"reflect"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
)

// TestTheSameAnswerEachTime: I9. On clusters where a policy cannot try everything, the same
// snapshot, built again, gets the same decision.
func TestTheSameAnswerEachTime(t *testing.T) {
	for _, c := range []policytest.Site{
		{Name: "64GPUs/40jobs/any", Nodes: 16, PerNode: 4, Jobs: 40, Waiting: 2, Any: true},
		{Name: "64GPUs/40jobs/fitted", Nodes: 16, PerNode: 4, Jobs: 40, Waiting: 10, Fitted: true},
	} {
		for _, p := range policy.All {
			first := p.Allocate(c.Snapshot())
			for range 2 {
				if again := p.Allocate(c.Snapshot()); !reflect.DeepEqual(first, again) {
					t.Errorf("%s: %s answers otherwise when asked again", c.Name, p.Name)
				}
			}
		}
	}
}
