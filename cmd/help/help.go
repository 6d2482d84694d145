// Package help prints the help of commands for terminals of 80 columns.
package help

import (
	"cmp"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Columns is how wide a line of help is at most.
const Columns = 80

// Narrow makes the help of a command, and of the commands below it, fit.
func Narrow(c *cobra.Command) {
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := strings.TrimRight(cmp.Or(c.Long, c.Short), " \n") + "\n\n"
		if c.Runnable() || c.HasSubCommands() {
			usage := "  " + c.UseLine()
			text += strings.Replace(c.UsageString(), usage, strings.Join(words("  ", strings.Fields(usage), 6), "\n"), 1)
		}
		io.WriteString(c.OutOrStdout(), Fold(text))
	})
}

// Fold breaks lines that are too long. A paragraph that has one is filled anew, and so is
// what is said in an entry of a list, which is a name, a gap, and words that stand under
// each other. An indented line without such a column may be a command to copy: it stays as
// it is.
func Fold(text string) string {
	var out, block []string
	head, column := "", 0 // of the block: an entry's name with its gap; none = a paragraph
	end := func() {
		out = append(out, filled(head, column, block)...)
		head, column, block = "", 0, nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		in := len(line) - len(strings.TrimLeft(line, " "))
		switch name := entry().FindString(line); {
		case block != nil && line != "" && in == column:
			block = append(block, line[in:])
		case line != "" && in == 0:
			end()
			block = []string{line}
		case name != "":
			end()
			head, column, block = name, utf8.RuneCountInString(name), []string{line[len(name):]}
		default:
			end()
			out = append(out, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}

// entry is the head of an entry of a list: a name that is indented, and two blanks or more.
var entry = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ +\S+(?: \S+)*  +`) })

// narrowest is the least room for what is said of an entry: where its name leaves less, it
// begins on the next line, set in a little.
const (
	narrowest = 40
	little    = 10
)

// filled is a block as it is, or filled anew where a line is too long.
func filled(head string, column int, block []string) (out []string) {
	long := false
	for _, line := range block {
		long = long || column+utf8.RuneCountInString(line) > Columns
	}
	all := strings.Fields(strings.Join(block, " "))
	switch {
	case long && column > Columns-narrowest:
		return append([]string{strings.TrimRight(head, " ")}, words(strings.Repeat(" ", little), all, little)...)
	case long:
		return words(head, all, column)
	}
	for k, line := range block {
		if k == 0 {
			out = append(out, head+line)
		} else {
			out = append(out, strings.Repeat(" ", column)+line)
		}
	}
	return out
}

// words sets words behind a head, and under each other in a column.
func words(head string, all []string, column int) (out []string) {
	line, n := head, utf8.RuneCountInString(head)
	empty := true
	for _, w := range all {
		long := utf8.RuneCountInString(w)
		switch {
		case empty:
		case n+1+long > Columns:
			out = append(out, line)
			line, n = strings.Repeat(" ", column), column
		default:
			line, n = line+" ", n+1
		}
		line, n, empty = line+w, n+long, false
	}
	return append(out, line)
}
