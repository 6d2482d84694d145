package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Escape escapes control characters instead of sending them to a terminal: job names and
// comments are other users' text.
func Escape(s string) string {
	if strings.IndexFunc(s, Unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Unprintable(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Unprintable reports whether a terminal would interpret the character, or not show it.
func Unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// Clock formats a duration as squeue does: 4:05, 1:02:03 or 2-03:04:05.
func Clock(d time.Duration) string {
	s := int64(max(d, 0).Round(time.Second) / time.Second)
	days, hours, minutes, seconds := s/86400, s/3600%24, s/60%60, s%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, hours, minutes, seconds)
	case hours > 0:
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}

// Plural formats "1 GPU" and "2 GPUs".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
