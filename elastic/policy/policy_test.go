package policy_test

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

func TestByName(t *testing.T) {
	for _, p := range policy.All {
		got, err := policy.ByName(p.Name)
		if err != nil || got.Name != p.Name || p.Doc == "" {
			t.Errorf("%s: %+v, %v", p.Name, got, err)
		}
		if a := p.Allocate(elastic.Snapshot{}); len(a) != 0 {
			t.Errorf("%s allocates %v of nothing", p.Name, a)
		}
	}
	if _, err := policy.ByName("best"); err == nil || !strings.Contains(err.Error(), "knapsack, annealing, deadline, welfare, fcfs, ef") {
		t.Errorf("unknown policy: %v", err)
	}
}
