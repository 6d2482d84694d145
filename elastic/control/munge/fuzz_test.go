package munge

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever unmunge prints, nothing panics, and what is taken is what stands
// there: one UID line, a payload of the length that is told.
func FuzzParse(f *testing.F) {
	f.Add("STATUS: Success (0)\nENCODE_HOST: login2 (10.0.0.2)\nCIPHER: aes128 (4)\nUID: ann (1001)\nGID: ann (1001)\nUID_RESTRICTION: sluice (500)\nLENGTH: 2\n\nhi")
	f.Add("STATUS: 0\nENCODE_HOST: ::1\nCIPHER: 4\nUID: 0\nGID: 0\nLENGTH: 0\n\n")
	f.Fuzz(func(t *testing.T, out string) {
		c, err := parse([]byte(out))
		if err != nil {
			if w := words(err.Error()); len(w) > 200 || !utf8.ValidString(w) || strings.ContainsAny(w, "\x1b\n\r") {
				t.Fatalf("%q", w)
			}
			return
		}
		if strings.Count("\n"+out[:len(out)-len(c.Payload)], "\nUID:") != 1 {
			t.Fatalf("uid %d from %q", c.UID, out)
		}
		if strings.ContainsFunc(c.Host, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("host %q", c.Host)
		}
	})
}
