package vault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Release is the budget of a data set, in bytes.
type Release struct {
	Job    int64         // what may leave with one job
	User   int64         // what may leave with all jobs of one user in Window
	Window time.Duration // a sliding window
	Text   string        // as typed
}

// MaxBytes is the largest size in a budget: 1 PB.
const MaxBytes = int64(1e15)

var units = map[string]int64{
	"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
}

var windows = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour}

const releaseForm = "write it as 200MB/job,1GB/week: a size for each job, and one for all jobs of a user in an hour, day, week or month"

// ReleaseError is a budget that cannot be read.
type ReleaseError struct {
	Column int    // of the first wrong byte, from 1
	Why    string // what is wrong there
}

// Error returns the column, what is wrong, and what to write.
func (e *ReleaseError) Error() string {
	return fmt.Sprintf("column %d of the budget: %s; %s", e.Column, e.Why, releaseForm)
}

// ParseRelease reads a budget such as "200MB/job,1GB/week". Sizes are whole numbers of B, KB, MB, GB, TB,
// or KiB to TiB, from 1 B to 1 PB. Both parts must be there, in any order: without the second the number of
// jobs would be the only bound. Errors are *ReleaseError.
func ParseRelease(text string) (Release, error) {
	r := Release{Text: text}
	column := 1
	for _, part := range strings.Split(text, ",") {
		size, per, found := strings.Cut(part, "/")
		if !found {
			return Release{}, &ReleaseError{column, fmt.Sprintf("%s has no /job and no /week", shown(part))}
		}
		n, err := parseSize(size, column)
		if err != nil {
			return Release{}, err
		}
		at := column + len(size) + 1
		window, known := windows[per]
		switch {
		case per == "job" && r.Job == 0:
			r.Job = n
		case known && r.User == 0:
			r.User, r.Window = n, window
		case per == "job" || known:
			return Release{}, &ReleaseError{at, fmt.Sprintf("a second budget for each %s", per)}
		default:
			return Release{}, &ReleaseError{at, fmt.Sprintf("%s is none of job, hour, day, week, month", shown(per))}
		}
		column += len(part) + 1
	}
	switch {
	case r.Job == 0:
		return Release{}, &ReleaseError{len(text) + 1, "the budget of a job is missing"}
	case r.User == 0:
		return Release{}, &ReleaseError{len(text) + 1, "the budget of a user is missing"}
	}
	return r, nil
}

func parseSize(text string, column int) (int64, error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 {
		return 0, &ReleaseError{column, fmt.Sprintf("%s does not begin with a whole number", shown(text))}
	}
	unit, ok := units[strings.ToUpper(text[digits:])]
	if !ok {
		return 0, &ReleaseError{column + digits, fmt.Sprintf("%s is none of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB", shown(text[digits:]))}
	}
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil || n < 1 || n > MaxBytes/unit {
		return 0, &ReleaseError{column, fmt.Sprintf("%s is not from 1B to 1000TB", shown(text))}
	}
	return n * unit, nil
}

// shown quotes text for an error, cut to a readable length.
func shown(text string) string {
	if len(text) > 40 {
		text = text[:40] + "..."
	}
	return strconv.Quote(text)
}
