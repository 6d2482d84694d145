package report

import (
	"math"
	"strconv"
	"time"
)

// The figures of a report. Each kind has a fixed number of decimals and one
// spelling, which JSON, CSV, table and page share, so that a number seen in one is
// found in the others.
type (
	// Seconds is a time in seconds, two decimals.
	Seconds float64
	// Hours is an amount of GPU-hours, two decimals.
	Hours float64
	// Ratio is a share or a quotient, three decimals.
	Ratio float64
	// Millis is a time in milliseconds, three decimals.
	Millis float64
)

// String writes the figure as every form of the report does.
func (s Seconds) String() string { return fixed(float64(s), 2) }

// String writes the figure as every form of the report does.
func (h Hours) String() string { return fixed(float64(h), 2) }

// String writes the figure as every form of the report does.
func (r Ratio) String() string { return fixed(float64(r), 3) }

// String writes the figure as every form of the report does.
func (m Millis) String() string { return fixed(float64(m), 3) }

// MarshalJSON writes String as a JSON number.
func (s Seconds) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON writes String as a JSON number.
func (h Hours) MarshalJSON() ([]byte, error) { return []byte(h.String()), nil }

// MarshalJSON writes String as a JSON number.
func (r Ratio) MarshalJSON() ([]byte, error) { return []byte(r.String()), nil }

// MarshalJSON writes String as a JSON number.
func (m Millis) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// fixed writes a number with so many decimals; what is no number is null, and
// there is no minus nought.
func fixed(f float64, places int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "null"
	}
	s := strconv.FormatFloat(f, 'f', places, 64)
	if f <= 0 && math.Abs(f) < 0.5*math.Pow10(-places) {
		s = strconv.FormatFloat(0, 'f', places, 64)
	}
	return s
}

// seconds is a duration as a figure.
func seconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// millis is a duration as a figure.
func millis(d time.Duration) Millis { return Millis(float64(d) / float64(time.Millisecond)) }
