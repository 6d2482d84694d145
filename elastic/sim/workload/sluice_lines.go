package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// lines reads a recording line by line and says where it is when something is
// wrong.
type lines struct {
	scan *bufio.Scanner
	name string
	n    int // number of the line, from 1
}

func newLines(r io.Reader, name string) *lines {
	l := &lines{scan: bufio.NewScanner(&io.LimitedReader{R: r, N: maxWorkload}), name: name}
	l.scan.Buffer(make([]byte, 0, 1<<16), maxLine)
	return l
}

// next returns the next line that is not blank, without its end; io.EOF after the
// last one. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	for l.scan.Scan() {
		l.n++
		if line := bytes.TrimRight(l.scan.Bytes(), "\r"); len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
	err := l.scan.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		l.n++
		return nil, l.fail(1, "the line is longer than %d bytes", maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s: after line %d: %w", l.name, l.n, err)
	}
	return nil, io.EOF
}

// fail is an error at a column of the present line.
func (l *lines) fail(column int, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", l.name, max(l.n, 1), column, fmt.Sprintf(format, args...))
}

// failAt is an error at a key of the present line, an object of JSON.
func (l *lines) failAt(line []byte, key, format string, args ...any) error {
	return l.fail(columnOf(line, key), format, args...)
}

// columnOf returns where the top-level key of the object begins, 1 without it.
func columnOf(line []byte, key string) int {
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') || key == "" {
		return 1
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return 1
		}
		if name, _ := t.(string); strings.EqualFold(name, key) {
			end := int(dec.InputOffset())
			return utf8.RuneCount(line[:max(0, end-len(key)-2)]) + 1
		}
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return 1
		}
	}
	return 1
}

// decode reads a line that is one object; what the object may not hold is an
// error.
func (l *lines) decode(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
			return l.fail(int(dec.InputOffset())+1, "something follows the object; want one a line")
		}
		return nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return l.fail(max(int(syntax.Offset), 1), "%v", syntax)
	case errors.As(err, &kind):
		return l.fail(max(int(kind.Offset), 1), "%q is a %s; want %s", kind.Field, kind.Value, kind.Type.Kind())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return l.fail(len(line)+1, "the line ends within its object")
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	column := 1
	if bad := (badSeconds{}); errors.As(err, &bad) {
		column = bytes.Index(line, []byte(bad.text)) + 1
	}
	if _, name, ok := strings.Cut(text, "unknown field "); ok {
		column = bytes.Index(line, []byte(name)) + 1
	}
	return l.fail(max(column, 1), "%s", text)
}

// cutName shortens a name that has no bounds.
func cutName(s string) string {
	if utf8.RuneCountInString(s) <= 60 {
		return s
	}
	return string([]rune(s)[:60]) + "..."
}

// seconds is a span that is written as a decimal number of seconds, to the
// nanosecond.
type seconds time.Duration

// maxSeconds is about a hundred years.
const maxSeconds = 3_200_000_000

// MarshalJSON writes the exact decimal.
func (s seconds) MarshalJSON() ([]byte, error) {
	if s < 0 {
		return nil, fmt.Errorf("%v: a time may not be negative", time.Duration(s))
	}
	text := fmt.Sprintf("%d.%09d", s/1e9, s%1e9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// UnmarshalJSON reads any number; a plain decimal exactly.
func (s *seconds) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= maxSeconds) {
		return badSeconds{text}
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.ContainsAny(text, "eE") || len(fraction) > 9 {
		*s = seconds(f * 1e9)
		return nil
	}
	w, err := strconv.ParseInt(whole, 10, 64)
	n, fErr := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	if err != nil || fErr != nil {
		return badSeconds{text}
	}
	*s = seconds(w*1e9 + n)
	return nil
}

// badSeconds is text where a number of seconds is expected.
type badSeconds struct{ text string }

// Error says what is wanted.
func (b badSeconds) Error() string {
	return fmt.Sprintf("%s: want seconds such as 12.5, from 0 to %d", cutName(b.text), int64(maxSeconds))
}
