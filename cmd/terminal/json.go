package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// WriteJSON prints a wire type as JSON. Its fields are sluice's stable interface.
func WriteJSON(w io.Writer, v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeJSON(raw.String()))
	return err
}

// escapeJSON escapes control characters that encoding/json leaves unescaped, as \u009b.
// They can only be in strings.
func escapeJSON(text string) string {
	if strings.IndexFunc(text, evilInJSON) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !evilInJSON(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func evilInJSON(r rune) bool { return r != '\n' && Unprintable(r) }
