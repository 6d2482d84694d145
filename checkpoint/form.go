package checkpoint

import "strings"

// form is the syntax of a short name in a file: its first byte, the other bytes and the
// maximum length. It uses tables instead of regular expressions, which would be compiled
// at every start of the sluice command.
type form struct {
	first, rest string // the bytes allowed
	min, max    int
}

const (
	digits    = "0123456789"
	hexDigits = digits + "abcdef"
	letters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

var (
	tokenForm      = form{hexDigits, hexDigits, 32, 32}
	requestForm    = form{letters + digits, letters + digits + "._:-", 1, 100}
	checkpointForm = form{digits, digits, 8, 8}
	sumForm        = form{hexDigits, hexDigits, 64, 64}
	metricForm     = form{letters + "_", letters + digits + "_./@:-", 1, 64}
	typeForm       = form{letters + digits, letters + digits + "_.+:-", 1, 64}
	nodeForm       = form{letters + digits, letters + digits + "._-", 1, 255}
)

// fits reports whether s has the form.
func (f form) fits(s string) bool {
	if len(s) < f.min || len(s) > f.max || strings.IndexByte(f.first, s[0]) < 0 {
		return false
	}
	for i := 1; i < len(s); i++ {
		if strings.IndexByte(f.rest, s[i]) < 0 {
			return false
		}
	}
	return true
}
