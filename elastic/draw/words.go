package draw

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Printable replaces what a terminal or a browser would act upon: names are other
// people's words.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Escaped is Printable for XML and HTML, in text and between quotes.
func Escaped(s string) string { return xmlText.Replace(Printable(s)) }

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// Lasting writes a span as people say it, in at most two units: 45 s, 12 min,
// 3 h 20 min, 2 d 4 h.
func Lasting(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	hours, minutes, secs := int(d/time.Hour), int(d/time.Minute)%60, int(d/time.Second)%60
	two := func(a int, unit string, b int, lesser string) string {
		if b == 0 {
			return fmt.Sprintf("%d %s", a, unit)
		}
		return fmt.Sprintf("%d %s %d %s", a, unit, b, lesser)
	}
	switch {
	case hours >= 48:
		return two(hours/24, "d", hours%24, "h")
	case hours > 0:
		return two(hours, "h", minutes, "min")
	case minutes > 0:
		return two(minutes, "min", secs, "s")
	}
	return fmt.Sprintf("%d s", secs)
}

// Count writes "1 job" and "2 jobs"; thousands are set off by spaces.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Grouped writes a number with a space between groups of three digits.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// Shortened cuts a name in the middle to so many characters.
func Shortened(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	half := (n - 1) / 2
	return string(r[:n-1-half]) + "…" + string(r[len(r)-half:])
}

// Figure writes a number with three digits at most, for axes.
func Figure(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
