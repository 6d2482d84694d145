package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// empty reports whether Slurm printed one of its words for "no value".
func empty(s string) bool {
	switch s {
	case "", "(null)", "N/A", "n/a", "NONE", "None", "Unknown", "NOT_SET", "INVALID":
		return true
	}
	return false
}

// text returns a user's or administrator's words, "" where Slurm says (null).
func text(s string) string {
	if s == "(null)" {
		return ""
	}
	return s
}

// noValue is the least of Slurm's 32-bit words for "none" and "infinite".
const noValue = math.MaxUint32 - 2

// count reads a number of things; Slurm's words and numbers for none are 0.
func count(s string) (int, error) {
	if empty(s) {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 63)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a count", shorten(s))
	case n >= noValue && n <= math.MaxUint32:
		return 0, nil
	case n > math.MaxUint32:
		return 0, fmt.Errorf("%q is too large", shorten(s))
	}
	return int(n), nil
}

// size reads a number of megabytes.
func size(s string) (int64, error) {
	if empty(s) {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a size", shorten(s))
	}
	return n, nil
}

// epoch reads seconds since 1970, which SLURM_TIME_FORMAT=%s asks for; the zero
// time where Slurm has none.
func epoch(s string) (time.Time, error) {
	if empty(s) {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return time.Time{}, fmt.Errorf("%q is not a time in seconds", shorten(s))
	}
	if n == 0 {
		return time.Time{}, nil
	}
	return time.Unix(n, 0).UTC(), nil
}

// duration reads Slurm's [days-]hours:minutes:seconds, minutes:seconds or days
// words; UNLIMITED and the like are 0.
func duration(s string) (time.Duration, error) {
	if empty(s) || s == "UNLIMITED" || s == "Partition_Limit" {
		return 0, nil
	}
	bad := fmt.Errorf("%q is not a duration", shorten(s))
	days, clock, hasDays := strings.Cut(s, "-")
	if !hasDays {
		days, clock = "0", s
	}
	parts := strings.Split(clock, ":")
	if len(parts) < 2 || len(parts) > 3 || (hasDays && len(parts) != 3) {
		return 0, bad
	}
	seconds, ok := digits(days, math.MaxInt64) // days stand before hours only
	per, limit := int64(24), int64(math.MaxInt64)
	for _, p := range parts {
		n, good := digits(p, limit)
		seconds, ok = seconds*per+n, ok && good
		per, limit = 60, 59
	}
	if !ok || seconds > int64(math.MaxInt64/time.Second) {
		return 0, bad
	}
	return time.Duration(seconds) * time.Second, nil
}

// digits reads a plain decimal number of at most 12 digits and at most limit.
func digits(s string, limit int64) (int64, bool) {
	if s == "" || len(s) > 12 {
		return 0, false
	}
	n := int64(0)
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, n <= limit
}

// exitStatus reads "code:signal", or the wait status that 20.11 and 22.05 print.
func exitStatus(s string) (code, signal int, err error) {
	if empty(s) {
		return 0, 0, nil
	}
	c, sig, pair := strings.Cut(s, ":")
	if code, err = count(c); err != nil || !pair {
		return code >> 8 & 0xff, code & 0x7f, err
	}
	signal, err = count(sig)
	return code, signal, err
}

// shorten keeps a value that goes into an error message presentable.
func shorten(s string) string {
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	return s
}
