package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// Escape escapes control characters, those that turn the direction of text, and more than
// mostMarks combining marks on one character, instead of sending them to a terminal: job names
// and comments are other users' text.
func Escape(s string) string {
	if strings.IndexFunc(s, suspicious) < 0 {
		return s
	}
	var b strings.Builder
	marks := mostMarks // none at the beginning, where they would change what is printed before
	for _, r := range s {
		if unicode.IsMark(r) {
			marks++
		} else {
			marks = 0
		}
		if Unprintable(r) || marks > mostMarks {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mostMarks is how many combining marks the letters of living languages carry.
const mostMarks = 3

func suspicious(r rune) bool { return Unprintable(r) || unicode.IsMark(r) }

// Width returns how many columns of a terminal the text takes: 2 for a wide character, 0 for a
// combining mark.
func Width(s string) int { return displaywidth.String(s) }

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

// Cause is an error of a file without the operation and the path, where a message has these already.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
