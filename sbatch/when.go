package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// when is a time as users write it; the zero value is none.
type when struct {
	text  string
	after time.Duration // offset from now, if it is relative
	form  string        // else: the layout for time.Parse
}

// whenForms are the time formats of sbatch that sluice reads, too.
var whenForms = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "15:04:05", "15:04"}

// maxAhead bounds how far in the future a deadline may be.
const maxAhead = 10 * 365 * 24 * time.Hour

// parseWhen reads now+8hours, a time of day such as 18:00, or a date with or without one,
// such as 2026-11-23T18:00, as sbatch does.
func parseWhen(value string) (when, error) {
	wrong := fmt.Errorf("want a time such as now+8hours, 18:00 or 2026-11-23T18:00")
	if rest, relative := strings.CutPrefix(value, "now+"); relative {
		number := strings.TrimRight(rest, "abcdefghijklmnopqrstuvwxyz")
		n, err := strconv.ParseUint(number, 10, 32)
		unit, known := units[rest[len(number):]]
		if err != nil || !known || n < 1 || n > uint64(maxAhead/unit) {
			return when{}, wrong
		}
		return when{text: value, after: time.Duration(n) * unit}, nil
	}
	for _, form := range whenForms {
		if _, err := time.Parse(form, value); err == nil {
			return when{text: value, form: form}, nil
		}
	}
	return when{}, wrong
}

// units are the units of a number after now+.
var units = map[string]time.Duration{
	"": time.Second, "second": time.Second, "seconds": time.Second, "minute": time.Minute, "minutes": time.Minute,
	"hour": time.Hour, "hours": time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// at is the time meant if it is written now, in whole seconds. A time of day is its next
// occurrence.
func (w when) at(now time.Time) (time.Time, error) {
	if w.form == "" {
		return now.Add(w.after).Truncate(time.Second), nil
	}
	t, err := time.ParseInLocation(w.form, w.text, now.Location())
	if err != nil {
		return time.Time{}, err
	}
	if !strings.Contains(w.form, "2006") {
		t = next(now, t)
	}
	switch {
	case !t.After(now):
		return time.Time{}, fmt.Errorf("that is in the past: it is now %s", now.Format("2006-01-02 15:04:05"))
	case t.Sub(now) > maxAhead:
		return time.Time{}, fmt.Errorf("that is more than ten years ahead")
	}
	return t, nil
}

// next is the first time after now at which clocks there show the given time of day. When
// clocks are put back they show some times of day twice.
func next(now, day time.Time) time.Time {
	hour, minute, second := day.Clock()
	year, month, today := now.Date()
	for ahead := 0; ; ahead++ {
		shown := time.Date(year, month, today+ahead, hour, minute, second, 0, time.UTC)
		t := readings(shown, now.Location())
		slices.SortFunc(t, time.Time.Compare)
		if i := slices.IndexFunc(t, func(t time.Time) bool { return t.After(now) }); i >= 0 {
			return t[i]
		}
	}
}

// readings are the times at which clocks there show what shown says in UTC: two if they
// are put back; if they skip it, the time it would have been.
func readings(shown time.Time, there *time.Location) (found []time.Time) {
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(around).In(there).Zone()
		t := shown.Add(-time.Duration(offset) * time.Second).In(there)
		if t.Format(time.DateTime) == shown.Format(time.DateTime) {
			found = append(found, t)
		}
	}
	if found == nil {
		_, offset := shown.Add(-24 * time.Hour).In(there).Zone()
		found = []time.Time{shown.Add(-time.Duration(offset) * time.Second).In(there)}
	}
	return found
}

// Date sets the deadline of a request that is made now.
func (r *Request) Date(now time.Time) error {
	if r.due.text == "" {
		return nil
	}
	t, err := r.due.at(now)
	if err != nil {
		return &Error{What: "--deadline=" + r.due.text, Why: err.Error(), Do: "name a time in the future"}
	}
	r.Spec.Deadline = t.UTC()
	return nil
}

// ParseDeadline reads a deadline as --deadline has it, written now: in whole seconds.
func ParseDeadline(value string, now time.Time) (time.Time, error) {
	w, err := parseWhen(value)
	if err != nil {
		return time.Time{}, err
	}
	t, err := w.at(now)
	return t.UTC(), err
}

// ParseDeadlineMode reads hard or soft, as --deadline-mode has it.
func ParseDeadlineMode(value string) (soft bool, err error) { return parseMode(value) }

// parseMode reads hard or soft.
func parseMode(value string) (soft bool, err error) {
	switch value {
	case "hard", "soft":
		return value == "soft", nil
	}
	return false, fmt.Errorf("want hard (the job waits until its deadline is admitted) or soft (it runs in any case)")
}
