package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// sheet is a list of named facts, aligned: the output of show and explain.
type sheet struct{ lines [][2]string }

// put adds a fact; a fact without a value is left out.
func (s *sheet) put(name, format string, args ...any) {
	if value := fmt.Sprintf(format, args...); value != "" {
		s.lines = append(s.lines, [2]string{name, value})
	}
}

// moment adds a time unless it is unknown.
func (s *sheet) moment(name string, t time.Time) {
	if !t.IsZero() {
		s.put(name, "%s", present.When(t))
	}
}

// write prints the facts. Values may span lines and are escaped.
func (s *sheet) write(w io.Writer) error {
	width := 0
	for _, line := range s.lines {
		width = max(width, utf8.RuneCountInString(line[0]))
	}
	var b strings.Builder
	for _, line := range s.lines {
		for i, text := range strings.Split(line[1], "\n") {
			name := line[0]
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "%-*s  %s\n", width, name, terminal.Escape(text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
