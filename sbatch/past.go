package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shortUnits are the units of a number that stands alone, as 7d.
var shortUnits = map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// ParsePast reads when something that lies behind now began: 7d, or now-7days as sacct does; a time
// of day such as 18:00, its last occurrence; a date with or without one, such as
// 2026-11-23T18:00, in the location of now. A date may be in the future.
func ParsePast(value string, now time.Time) (time.Time, error) {
	if value == "now" {
		return now, nil
	}
	rest, sacct := strings.CutPrefix(value, "now-")
	if number := strings.TrimRight(rest, "abcdefghijklmnopqrstuvwxyz"); number != rest || sacct {
		unit, known := units[rest[len(number):]]
		if short, is := shortUnits[rest[len(number):]]; is {
			unit, known = short, true
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err == nil && known && n >= 1 && n <= uint64(maxAhead/unit) {
			return now.Add(-time.Duration(n) * unit), nil
		}
		return time.Time{}, errPast
	}
	for _, form := range whenForms {
		t, err := time.ParseInLocation(form, value, now.Location())
		switch {
		case err != nil:
			continue
		case strings.Contains(form, "2006"):
			return t, nil
		}
		return last(now, t), nil
	}
	return time.Time{}, errPast
}

var errPast = fmt.Errorf("want a time such as 7d, now-12hours, 18:00, 2026-11-01 or 2026-11-01T18:00")

// last is the latest time up to now at which clocks there showed the given time of day.
func last(now, day time.Time) time.Time {
	hour, minute, second := day.Clock()
	year, month, today := now.Date()
	for back := 0; ; back++ {
		t := readings(time.Date(year, month, today-back, hour, minute, second, 0, time.UTC), now.Location())
		slices.SortFunc(t, func(a, b time.Time) int { return b.Compare(a) })
		if i := slices.IndexFunc(t, func(t time.Time) bool { return !t.After(now) }); i >= 0 {
			return t[i]
		}
	}
}
