package vault

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for raw, want := range map[string]string{
		"epoch 1\nloss 0.5\t!\n":             "epoch 1\nloss 0.5\t!\n",
		"\x1b[31mred\x1b[0m":                 "red",
		"\x1b]0;title\x07a\x1b]2;x\x1b\\b":   "ab",
		"10%\r20%\r\n":                       "10%\n20%\n",
		"a\x00\x07\x7f\u009bb":               "ab",
		"caf\xe9 \u00e9 \u202eevil\u200b":    "caf? \u00e9 evil",
		"\x1bP1;2qsixel\x1b\\end\x1b(Bx":     "endBx",
		"\x1b[" + strings.Repeat("1", 10000): strings.Repeat("1", 10000-longestEscape+2),
	} {
		if got, used := Printable([]byte(raw), 1<<20, true); string(got) != want || used != len(raw) {
			t.Errorf("%q: %q of %d bytes, want %q", raw, got, used, want)
		}
	}
}

// FuzzPrintable: the text is printable and within its bound, and is the same in whatever parts it is read.
func FuzzPrintable(f *testing.F) {
	f.Add([]byte("a\x1b[3"+"1mb\r\nc\xc3\xa9\x1b]0;t\x07"), 3)
	f.Fuzz(func(t *testing.T, raw []byte, part int) {
		whole, used := Printable(raw, 1<<30, true)
		if used != len(raw) || !utf8.Valid(whole) {
			t.Fatalf("%d of %d bytes, %q", used, len(raw), whole)
		}
		for _, r := range string(whole) {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q is in the text", r)
			}
		}
		most := 1 + (part&0x7fffffff)%50
		if short, _ := Printable(raw, most, true); len(short) > most || !bytes.HasPrefix(whole, short) {
			t.Fatalf("at most %d bytes: %q", most, short)
		}
		var parts []byte
		window := longestEscape + 1 + most
		for at := 0; at < len(raw); {
			end := min(len(raw), at+window)
			text, n := Printable(raw[at:end], 1<<30, end == len(raw))
			if n == 0 {
				t.Fatalf("nothing is read at byte %d", at)
			}
			parts, at = append(parts, text...), at+n
		}
		if !bytes.Equal(parts, whole) {
			t.Fatalf("in parts %q, as a whole %q", parts, whole)
		}
	})
}
