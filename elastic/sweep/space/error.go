package space

import "fmt"

// Problem says of what kind an Error is. Programs use it rather than Said, which is for people and
// may be reworded.
type Problem string

const (
	Syntax       Problem = "syntax"       // the text has not the form that is wanted
	BadName      Problem = "name"         // a parameter cannot have this name
	Twice        Problem = "twice"        // a parameter, by its Variable, a choice, or a value of --try
	EmptyRange   Problem = "empty-range"  // the low end is above the high end, or there is no choice
	LogOfZero    Problem = "log-of-zero"  // a logarithmic range does not start above 0
	BadStep      Problem = "step"         // a step is not above 0, or larger than the range
	BadNumber    Problem = "number"       // not a number, or one that is too large
	NoSuchName   Problem = "no-such-name" // no parameter has this name
	OutOfRange   Problem = "out-of-range" // a value that the parameter cannot have
	Circle       Problem = "circle"       // conditions that depend on one another
	TooLarge     Problem = "too-large"    // above a limit of this package
	Unsatisfied  Problem = "unsatisfied"  // no point satisfies the constraints
	WrongType    Problem = "type"         // text where a number is wanted, or the reverse
	NothingGiven Problem = "nothing"      // no parameter at all
)

// Option is where a text was written.
type Option string

const (
	Param Option = "param" // --param
	Where Option = "where" // --where
	Try   Option = "try"   // --try
	Use   Option = "use"   // {name} on a command line
)

// Error is bad input. The caller knows the line of the text; Column counts characters within it
// from 1. Text is the whole text in which Column lies. A caller that read several texts by itself
// sets Index, so that the place in a job script can be found from Option and Index.
type Error struct {
	Option  Option
	Index   int // which of the option's texts, from 0
	Column  int
	Text    string
	Problem Problem
	Said    string // what is wrong and what to type instead
}

// Error is one line: the option, the whole text, the column and Said. The file's line is not in it.
func (e *Error) Error() string {
	if e.Option == Use {
		return fmt.Sprintf("%q: column %d: %s", e.Text, e.Column, e.Said)
	}
	return fmt.Sprintf("--%s %q: column %d: %s", e.Option, e.Text, e.Column, e.Said)
}

// fault is an error while its text is read: a byte offset, made a column by within. Readers return
// *fault, not error: a nil *fault in an error would not be nil.
type fault struct {
	at      int
	problem Problem
	said    string
}

// wrong is a fault at a byte offset. The text says what is wrong and what to type instead.
func wrong(at int, p Problem, format string, args ...any) *fault {
	return &fault{at, p, fmt.Sprintf(format, args...)}
}

// text MUST be what f.at is an offset of, in full; an offset outside it is moved to its nearest
// end.
func (f *fault) within(option Option, index int, text string) *Error {
	at := min(max(f.at, 0), len(text))
	return &Error{option, index, len([]rune(text[:at])) + 1, text, f.problem, f.said}
}
