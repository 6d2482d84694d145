package main

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// plain is a log's last stage: every Write is one entry, and becomes one line without
// control characters. zerolog escapes fields but not the message of its text format, and
// messages contain users' text.
type plain struct{ to io.Writer }

// Write writes one entry. Escapes are \u00xx, which is also valid in JSON strings.
func (p plain) Write(entry []byte) (int, error) {
	line := bytes.TrimSuffix(entry, []byte("\n"))
	if bytes.IndexFunc(line, unprintable) >= 0 {
		line = escaped(line)
	}
	if _, err := p.to.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		return 0, err
	}
	return len(entry), nil
}

func escaped(line []byte) []byte {
	out := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case !unprintable(r):
			out = append(out, line[:size]...)
		case r > 0xffff: // as two surrogates, as in JSON
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		line = line[size:]
	}
	return out
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
