package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// column is the head of one column of a table.
type column struct {
	head  string
	right bool // numbers
	width int  // 0 = as wide as needed; else cut or filled to it
}

// table is rows of cells below columns.
type table struct {
	columns  []column
	rows     [][]string
	noHeader bool
	// between, when not nil, is the text before, between and after the cells,
	// which are then as wide as their column says or as they are.
	between []string
	// room cuts lines to so many characters; 0 = does not.
	room int
}

// add appends a row; its cells are escaped when printed.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table: columns two spaces apart, the last one unpadded.
func (t *table) write(w io.Writer) error {
	lines := make([][]string, 0, len(t.rows)+1)
	if !t.noHeader {
		head := make([]string, len(t.columns))
		for i, c := range t.columns {
			head[i] = c.head
		}
		lines = append(lines, head)
	}
	for _, row := range t.rows {
		safe := make([]string, len(t.columns))
		for i := range safe {
			safe[i] = escape(row[i])
		}
		lines = append(lines, safe)
	}
	widths := t.widths(lines)
	if t.fit(widths); t.tight(widths) {
		lines, widths = t.fuller(lines, widths)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(t.line(line, widths))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) widths(lines [][]string) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = c.width
		for _, line := range lines {
			if c.width == 0 && t.between == nil {
				widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
			}
		}
	}
	return widths
}

// A name gives way, down to leastName, so that the last column keeps leastLast.
const leastName, leastLast = 8, 32

// over is how many characters a terminal lacks for the last column.
func (t *table) over(widths []int) int {
	if t.room == 0 || t.between != nil || len(widths) == 0 {
		return 0
	}
	need := min(widths[len(widths)-1], leastLast)
	for _, width := range widths[:len(widths)-1] {
		need += width + 2
	}
	return need - t.room
}

func (t *table) tight(widths []int) bool { return t.over(widths) > 0 }

// fuller is the table without the columns in which no row says anything, for a terminal
// that has no room for them.
func (t *table) fuller(lines [][]string, widths []int) ([][]string, []int) {
	last := len(widths) - 1
	empty := func(i int) bool {
		for _, row := range t.rows {
			if row[i] != "-" {
				return false
			}
		}
		return i < last && len(t.rows) > 0
	}
	kept := make([][]string, len(lines))
	var columns []column
	var wide []int
	for i, c := range t.columns {
		if empty(i) {
			continue
		}
		columns, wide = append(columns, c), append(wide, widths[i])
		for k, line := range lines {
			kept[k] = append(kept[k], line[i])
		}
	}
	t.columns = columns
	return kept, wide
}

// fit narrows the NAME column where a terminal has no room for the last one.
func (t *table) fit(widths []int) {
	over := t.over(widths)
	if over <= 0 {
		return
	}
	for i, c := range t.columns[:len(t.columns)-1] {
		if c.head == "NAME" && c.width == 0 {
			widths[i] = min(widths[i], max(leastName, widths[i]-over))
			t.columns[i].width = widths[i]
		}
	}
}

func (t *table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(t.before(i))
		if t.columns[i].width > 0 {
			cell = cut(cell, widths[i])
		}
		fill := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
		if t.columns[i].right {
			b.WriteString(fill + cell)
		} else {
			b.WriteString(cell + fill)
		}
	}
	line := strings.TrimRight(b.String(), " ")
	if t.between != nil {
		line = b.String() + t.between[len(cells)]
	}
	if t.room > 0 && utf8.RuneCountInString(line) > t.room {
		line = cut(line, t.room-1) + "+"
	}
	return line
}

// before is what stands before the cell.
func (t *table) before(i int) string {
	switch {
	case t.between != nil:
		return t.between[i]
	case i > 0:
		return "  "
	}
	return ""
}

// cut keeps the first n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:max(n, 0)])
}

// room returns the terminal's width when w is one, else 0: what goes into a file
// or a pipe is never cut.
func room(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col < 40 {
		return 0
	}
	return int(size.Col)
}
