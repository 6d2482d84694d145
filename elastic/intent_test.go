package elastic_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestRequestID: the id of a request contains job, incarnation, time and daemon.
func TestRequestID(t *testing.T) {
	if id := elastic.RequestID(7, 4, noon, "one"); id != "7.4.1767355200000.one" {
		t.Error(id)
	}
}
