package sbatch

import (
	"strings"
	"testing"
	"time"
)

// TestParsePast: times that lie behind now, as sacct and people write them.
func TestParsePast(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("SKIPPED: no time zones here: ", err)
	}
	now := time.Date(2026, 11, 25, 12, 30, 0, 0, berlin)
	winter := time.Date(2026, 10, 25, 12, 0, 0, 0, berlin) // clocks were put back at 3:00
	for _, c := range []struct {
		value string
		now   time.Time
		want  string // "" = refused
	}{
		{"now", now, "2026-11-25T12:30:00+01:00"},
		{"7d", now, "2026-11-18T12:30:00+01:00"},
		{"36h", now, "2026-11-24T00:30:00+01:00"},
		{"2w", now, "2026-11-11T12:30:00+01:00"},
		{"30days", now, "2026-10-26T12:30:00+01:00"},
		{"now-7days", now, "2026-11-18T12:30:00+01:00"},
		{"now-1d", now, "2026-11-24T12:30:00+01:00"},
		{"now-60", now, "2026-11-25T12:29:00+01:00"},
		{"12:30", now, "2026-11-25T12:30:00+01:00"},
		{"12:30:01", now, "2026-11-24T12:30:01+01:00"},
		{"18:00", now, "2026-11-24T18:00:00+01:00"},
		{"2026-11-01", now, "2026-11-01T00:00:00+01:00"},
		{"2026-07-01", now, "2026-07-01T00:00:00+02:00"},
		{"2026-11-01T18:00", now, "2026-11-01T18:00:00+01:00"},
		{"2026-11-01T18:00:30", now, "2026-11-01T18:00:30+01:00"},
		{"2027-01-01", now, "2027-01-01T00:00:00+01:00"},
		{"02:30", winter, "2026-10-25T02:30:00+01:00"}, // the second of the two
		{"", now, ""}, {"d", now, ""}, {"7", now, ""}, {"0d", now, ""}, {"-7d", now, ""}, {"7m", now, ""}, {"7 d", now, ""}, {"now+7days", now, ""},
		{"now-", now, ""}, {"99999999999d", now, ""}, {"9999w", now, ""}, {"yesterday", now, ""}, {"2026-13-01", now, ""}, {"25:00", now, ""}, {"01.11.2026", now, ""},
	} {
		got, err := ParsePast(c.value, c.now)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "such as 7d") {
				t.Errorf("%q: %v, %v, want an error", c.value, got, err)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339) != c.want {
			t.Errorf("%q at %v: %v, %v, want %s", c.value, c.now, got.Format(time.RFC3339), err, c.want)
		}
	}
}
