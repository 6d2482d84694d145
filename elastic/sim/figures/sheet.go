package figures

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// sheet is the lines of one figure. They are aligned among themselves, and each
// begins with the figure's number.
type sheet struct {
	number int
	text   bytes.Buffer
	table  *tabwriter.Writer
}

func newSheet(number int) *sheet {
	s := &sheet{number: number}
	s.table = tabwriter.NewWriter(&s.text, 0, 0, 2, ' ', 0)
	return s
}

// heads names the columns of the lines that follow.
func (s *sheet) heads(columns ...string) {
	s.table.Flush()
	fmt.Fprintf(s.table, "#\t%s\n", strings.Join(columns, "\t"))
}

// line writes one line of cells.
func (s *sheet) line(cells ...string) {
	fmt.Fprintf(s.table, "%d\t%s\n", s.number, strings.Join(cells, "\t"))
}

// say writes a line of words.
func (s *sheet) say(format string, args ...any) {
	s.table.Flush()
	fmt.Fprintf(&s.text, "%d  %s\n", s.number, fmt.Sprintf(format, args...))
}

// goal writes what came of a goal: the value is to be at most so much.
func (s *sheet) goal(what string, value, most float64, unit string) {
	verdict := "met"
	if value > most {
		verdict = "MISSED"
	}
	s.say("goal %-6s  %s: %s, at most %s", verdict, what, amount(value)+unit, amount(most)+unit)
}

// least writes what came of a goal: the value is to be at least so much.
func (s *sheet) least(what string, value, least float64) {
	verdict := "met"
	if value < least {
		verdict = "MISSED"
	}
	s.say("goal %-6s  %s: %s, at least %s", verdict, what, amount(value), amount(least))
}

func (s *sheet) writeTo(w io.Writer) error {
	s.table.Flush()
	_, err := w.Write(s.text.Bytes())
	return err
}

// amount writes small numbers, such as ratios, with three decimals and large ones,
// such as seconds, with none.
func amount(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", a/b)
}

func secs(v float64) string  { return fmt.Sprintf("%.0f", v) }
func hours(v float64) string { return fmt.Sprintf("%.2f", v/3600) }
func two(v float64) string   { return fmt.Sprintf("%.2f", v) }
