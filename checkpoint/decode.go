package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-hpc/sluice/nodes"
)

// Kinds of errors in a file's content. Test with errors.Is.
var (
	// ErrMalformed: not what such a file contains.
	ErrMalformed = errors.New("malformed")
	// ErrTooNew: written by a later version of sluice.
	ErrTooNew = errors.New("written by a later version of sluice")
)

// FormatError says where a file cannot be used. Line and Column start at 1; 0 means
// unknown.
type FormatError struct {
	File         string
	Line, Column int
	Err          error  // ErrMalformed or ErrTooNew
	Words        string // what was found and what was expected
}

// Error returns the file and the place, then the reason.
func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Words != "" {
		fmt.Fprintf(&b, ": %s", e.Words)
	}
	return b.String()
}

// Unwrap returns the kind.
func (e *FormatError) Unwrap() error { return e.Err }

// decode reads one JSON value and nothing after it. Unknown fields are ignored: a job
// that runs for weeks may speak with a newer daemon. Version is for fields that an older
// reader must not ignore.
func decode(file string, data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(into)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			return malformed(file, data, dec.InputOffset(), "something follows the JSON object")
		}
		return nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return malformed(file, data, syntax.Offset, syntax.Error())
	case errors.As(err, &kind):
		return malformed(file, data, kind.Offset, mistyped(kind))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed(file, data, int64(len(data)), "ends in the middle")
	}
	return malformed(file, data, 0, err.Error())
}

// mistyped describes a type error in JSON's terms, not in Go's.
func mistyped(e *json.UnmarshalTypeError) string {
	want := "an object"
	switch e.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Slice:
		want = "an array"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		want = "a whole number"
	case reflect.Bool:
		want = "true or false"
	case reflect.Float64:
		want = "a number"
	}
	if e.Field == "" {
		return fmt.Sprintf("%s where %s should be", e.Value, want)
	}
	return fmt.Sprintf("%s: %s where %s should be", e.Field, e.Value, want)
}

// malformed builds the error for a byte offset, 0 when the place is not known.
func malformed(file string, data []byte, offset int64, words string) error {
	e := &FormatError{File: file, Err: ErrMalformed, Words: clean(words, maxText)}
	if offset > 0 && offset <= int64(len(data)) {
		before := data[:offset]
		e.Line = 1 + bytes.Count(before, []byte("\n"))
		e.Column = max(1, len(before)-1-bytes.LastIndexByte(before, '\n'))
	}
	return e
}

// versioned is the part of every file that is read first.
type versioned struct {
	Version int `json:"version"`
}

// decodeVersioned refuses a later version before it reads anything else: the other fields
// may then have a different meaning.
func decodeVersioned(file string, data []byte, into any) error {
	var v versioned
	if err := decode(file, data, &v); err != nil {
		return err
	}
	if v.Version > Version {
		return &FormatError{File: file, Err: ErrTooNew,
			Words: fmt.Sprintf("version %d, this program reads up to %d", v.Version, Version)}
	}
	if v.Version < 1 {
		return fieldError(file, data, "version", fmt.Sprintf("%d: at least 1", v.Version))
	}
	return decode(file, data, into)
}

// Bounds of valid file contents. They are far above any use, and keep sums and products
// within int64.
const (
	maxID    = 1 << 40
	maxCount = 1_000_000 // GPUs, nodes, restarts, moves, processes
	maxWork  = 1e15      // epochs or steps
	maxText  = 1024      // bytes of a sentence for people
	maxNodes = 10_000
	maxSkips = 32
)

// checker collects the first field out of range.
type checker struct {
	file string
	data []byte
	err  error
}

// want records the reason for a field unless ok or an earlier reason exists.
func (c *checker) want(ok bool, field, words string) {
	if !ok && c.err == nil {
		c.err = fieldError(c.file, c.data, field, words)
	}
}

func (c *checker) whole(field string, v, low, high int64) {
	c.want(v >= low && v <= high, field, fmt.Sprintf("%d: want %d to %d", v, low, high))
}

func (c *checker) number(field string, v float64) {
	c.want(v >= 0 && v <= maxWork && !math.IsNaN(v), field, fmt.Sprintf("%g: want 0 to %g", v, float64(maxWork)))
}

func (c *checker) match(field, v string, form form, want string) {
	c.want(form.fits(v), field, fmt.Sprintf("%q: want %s", clip(v, 80), want))
}

// moment refuses times that no clock shows; the zero time means "not yet".
func (c *checker) moment(field string, t time.Time) {
	c.want(t.IsZero() || (t.Year() >= 1970 && t.Year() < 10_000), field, "not a time from 1970 on")
}

func (c *checker) placement(field string, p nodes.Placement) {
	c.want(len(p) <= maxNodes, field, fmt.Sprintf("%d nodes: at most %d", len(p), maxNodes))
	seen := make(map[string]bool, len(p))
	for _, s := range p {
		c.want(nodeForm.fits(s.Node), field, fmt.Sprintf("%q is not a node's name", clip(s.Node, 80)))
		c.want(!seen[s.Node], field, fmt.Sprintf("node %s twice", s.Node))
		c.want(s.GPUs >= 1 && s.GPUs <= maxCount, field, fmt.Sprintf("%d GPUs on %s: want 1 to %d", s.GPUs, s.Node, maxCount))
		if c.err != nil {
			return
		}
		seen[s.Node] = true
	}
}

// fieldError points at the field's name in the text.
func fieldError(file string, data []byte, field, words string) error {
	at := bytes.Index(data, []byte(`"`+field+`"`))
	if at < 0 {
		return malformed(file, data, 0, field+" is missing: "+words)
	}
	return malformed(file, data, int64(at)+1, field+": "+words)
}

// clean makes a text from outside safe to display: one line, no control characters, at
// most max bytes.
func clean(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
	return clip(s, max)
}

// clip shortens to at most max bytes without cutting a character in two.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max-3], "") + "..."
}
