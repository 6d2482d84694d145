package sbatch

import (
	"fmt"
	"strings"
)

// Place is where an option was written. The zero Place is the command line.
type Place struct {
	// Source is a script's name as messages show it, or the name of a variable
	// of the environment.
	Source string
	// Line and Column count from 1, columns in bytes; 0 outside of scripts.
	Line, Column int
}

// String is "train.sh:4:9" in a script, the variable's name in the environment,
// "the command line" otherwise.
func (p Place) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d", printable(p.Source), p.Line, p.Column)
	case p.Source != "":
		return p.Source
	}
	return "the command line"
}

// Error is one error in what the user gave.
type Error struct {
	At   Place
	What string // as the user wrote it; may be empty
	Why  string // why sluice cannot accept it
	Do   string // what to write instead; may be empty
}

// Error returns "train.sh:4:9: --gpus=4: why; what to do".
func (e *Error) Error() string {
	var b strings.Builder
	if e.At != (Place{}) && !(e.At.Line == 0 && strings.HasPrefix(e.What, e.At.Source)) {
		b.WriteString(e.At.String() + ": ")
	}
	if e.What != "" {
		b.WriteString(printable(e.What) + ": ")
	}
	b.WriteString(e.Why)
	if e.Do != "" {
		b.WriteString("; " + e.Do)
	}
	return b.String()
}

// printable is text for messages: without control characters, and short enough for a
// line.
func printable(s string) string {
	const limit = 200
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return safe(s)
}

// safe removes from the contents or name of a file what could disturb terminals and
// Slurm's tables.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
}
