package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// printable replaces what a terminal or a browser would act upon: names are other
// people's words.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// escaped is printable for XML and HTML, in text and between quotes.
func escaped(s string) string { return xmlText.Replace(printable(s)) }

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// brief writes a span without what is nought: 30 s, 8 min, 1.4 s.
func brief(s Seconds) string {
	if s >= 120 && s == Seconds(int64(s)) && int64(s)%60 == 0 {
		return strconv.FormatInt(int64(s)/60, 10) + " min"
	}
	return strconv.FormatFloat(float64(s), 'f', -1, 64) + " s"
}

// lasting writes a span as people say it, in at most two units: 45 s, 12 min,
// 3 h 20 min, 2 d 4 h.
func lasting(d time.Duration) string {
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

// count writes "1 job" and "2 jobs"; thousands are set off by spaces.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes a number with a space between groups of three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// costs is the price of a restart in a few words.
func (s Summary) costs() string {
	if s.ByModel {
		return brief(s.Restart) + " in the mean"
	}
	return brief(s.Restart)
}
