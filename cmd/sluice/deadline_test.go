package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestDeadlineOrder: times are those of --deadline, and what is no time is refused.
func TestDeadlineOrder(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for at, want := range map[string]wire.Change{
		"now+8hours": {Order: wire.NewDeadline, Deadline: now.Add(8 * time.Hour)}, "11:00": {Order: wire.NewDeadline, Deadline: now.Add(23 * time.Hour)},
		"2026-03-05T18:00": {Order: wire.NewDeadline, Deadline: now.Add(30 * time.Hour)}, "none": {Order: wire.NewDeadline},
	} {
		if got, err := deadlineOrder(at, "hard", now); err != nil || got.Order != want.Order || !got.Deadline.Equal(want.Deadline) || got.Validate() != nil {
			t.Errorf("%s: %+v, %v", at, got, err)
		}
	}
	if got, err := deadlineOrder("now+1hour", "soft", now); err != nil || !got.Soft {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range [][3]string{{"soon", "hard", "want a time such as"}, {"2020-01-01T00:00", "hard", "in the past"}, {"now+1hour", "maybe", "want hard"}, {"none", "soft", "belongs to a time"}} {
		if got, err := deadlineOrder(c[0], c[1], now); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%v: %+v, %v", c, got, err)
		}
	}
}
