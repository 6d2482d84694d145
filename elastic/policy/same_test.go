package policy_test

import (
	"reflect"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/policy"
)

// TestTheSameAnswerEachTime: I9, on clusters where a policy cannot try everything, the
// same snapshot, made anew, gets the same decision.
func TestTheSameAnswerEachTime(t *testing.T) {
	for _, c := range []site{
		{"64GPUs/40jobs/any", 16, 4, 40, 2, false, true},
		{"64GPUs/40jobs/fitted", 16, 4, 40, 10, true, false},
	} {
		for _, p := range policy.All {
			first := p.Allocate(c.snapshot())
			for range 2 {
				if again := p.Allocate(c.snapshot()); !reflect.DeepEqual(first, again) {
					t.Errorf("%s: %s answers otherwise when asked again", c.name, p.Name)
				}
			}
		}
	}
}
