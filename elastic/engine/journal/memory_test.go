package journal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	contract.Run(t, func(*testing.T) contract.Subject { return contract.Subject{Both: &journal.Memory{}} })
}

func TestMemoryFailsOnRequest(t *testing.T) {
	full := errors.New("disk full")
	var m journal.Memory
	m.Fail = func(op string) error {
		if op == "SaveJobs" {
			return full
		}
		return nil
	}
	if err := m.SaveJobs(t.Context(), []journal.JobRecord{contract.Job("a", 1)}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if jobs, err := m.Jobs(t.Context(), time.Time{}); err != nil || len(jobs) > 0 {
		t.Errorf("a failed write left %v, %v", jobs, err)
	}
	if err := m.SaveSegments(t.Context(), []journal.Segment{{Token: "a"}}); err != nil {
		t.Errorf("another write failed too: %v", err)
	}
}
