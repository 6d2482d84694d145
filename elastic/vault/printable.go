package vault

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// printable reports whether a text has printable characters only.
func printable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// FileName reports whether a path below $SLUICE_OUTPUT can be told to users as it is.
func FileName(name string) bool { return name != "" && len(name) <= 1024 && printable(name) }

// longestEscape bounds an escape sequence that is removed; of a longer one the rest is text.
const longestEscape = 256

// Printable turns bytes of a log into printable text of at most most bytes, and returns how many of
// the bytes are in it. Escape sequences and control characters are removed, a carriage return becomes the end of a line,
// and what is not UTF-8 a question mark. Unless last, what may go on in the next part is left for it.
func Printable(raw []byte, most int, last bool) (text []byte, used int) {
	for used < len(raw) {
		rest := raw[used:]
		if !last && used+longestEscape > len(raw) && unfinished(rest) {
			break
		}
		out, n := next(rest)
		if len(text)+len(out) > most {
			break
		}
		text, used = append(text, out...), used+n
	}
	return text, used
}

// unfinished reports whether the bytes may be the beginning of something longer.
func unfinished(rest []byte) bool {
	switch {
	case rest[0] == '\x1b':
		n, whole := escape(rest)
		return !whole && n == len(rest)
	case rest[0] == '\r':
		return len(rest) == 1
	}
	return !utf8.FullRune(rest)
}

// next returns the text for the first character or sequence, and its length in bytes.
func next(rest []byte) ([]byte, int) {
	switch rest[0] {
	case '\n', '\t':
		return rest[:1], 1
	case '\r':
		if bytes.HasPrefix(rest, []byte("\r\n")) {
			return []byte("\n"), 2
		}
		return []byte("\n"), 1
	case '\x1b':
		n, _ := escape(rest)
		return nil, n
	}
	r, n := utf8.DecodeRune(rest)
	switch {
	case r == utf8.RuneError && n <= 1:
		return []byte("?"), 1
	case unicode.IsPrint(r):
		return rest[:n], n
	}
	return nil, n
}

// escape returns the length of the escape sequence at the beginning, and whether it is whole. CSI
// ends with a letter or the like, OSC and other strings with BEL or ESC \.
func escape(rest []byte) (n int, whole bool) {
	if len(rest) < 2 {
		return len(rest), false
	}
	text := rest[2:min(len(rest), longestEscape)]
	switch rest[1] {
	case '[':
		for i, b := range text {
			if b >= 0x40 && b <= 0x7e {
				return i + 3, true
			}
			if b < 0x20 || b > 0x7e {
				return i + 2, true // it is none: what was read of it is dropped
			}
		}
	case ']', 'P', 'X', '^', '_':
		for i, b := range text {
			if b == '\a' {
				return i + 3, true
			}
			if b == '\x1b' && i+1 < len(text) && text[i+1] == '\\' {
				return i + 4, true
			}
			if b == '\n' {
				return i + 2, true
			}
		}
	default:
		return 2, true
	}
	return len(text) + 2, len(rest) >= longestEscape
}
