package elastic

import "time"

// furthest is the most by which Ahead differs from now.
const furthest = 100 * 365 * 24 * time.Hour

// Ahead returns the time that lies the seconds after now, or before it if they are negative, at most
// 100 years from now. Jobs may declare work that takes longer than a time.Duration can have; the
// conversion of such a number is undefined, and has given ends in the past.
func Ahead(now time.Time, seconds float64) time.Time {
	switch most := furthest.Seconds(); {
	case seconds < -most:
		return now.Add(-furthest)
	case seconds < most:
		return now.Add(time.Duration(seconds * float64(time.Second)))
	}
	return now.Add(furthest) // also if seconds is not a number
}
