package elastic_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestRequestsNameTheDaemon: two daemons that open the same move in the same moment ask in
// two names.
func TestRequestsNameTheDaemon(t *testing.T) {
	s := rack(t, "n1:2", "-")
	a := elastic.Allocation{1: {GPUs: 4, Place: at(t, "n2:4")}, 2: {GPUs: 1, Place: at(t, "n1:1")}}
	names := map[string]bool{}
	for _, by := range []string{"", "one", "other"} {
		s.By = by
		for _, in := range elastic.Reconcile(s, a, elastic.Arrange(s, a)).Open {
			if in.Job == 1 {
				names[in.Request] = true
			}
		}
	}
	if len(names) != 3 {
		t.Error(names)
	}
	if id := elastic.RequestID(7, 4, noon, "one"); id != "7.4.1767355200000.one" {
		t.Error(id)
	}
}
