package terminal

import (
	"io"
	"math"
	"os"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/sys/unix"
)

// Column is the head of one column of a table.
type Column struct {
	Head  string
	Right bool // right-aligned, for numbers
	Width int  // 0 = as wide as needed; else truncated or padded to it
	Least int  // if not 0, the width down to which a narrow terminal truncates it
}

// Left is a left-aligned column with the given head.
func Left(head string) Column { return Column{Head: head} }

// Right is a right-aligned column with the given head.
func Right(head string) Column { return Column{Head: head, Right: true} }

// Down returns the column truncated down to this width on a narrow terminal.
func (c Column) Down(least int) Column {
	c.Least = least
	return c
}

// Table is rows of cells with column heads.
type Table struct {
	Columns  []Column
	Rows     [][]string
	NoHeader bool // print no heads
	// Between, if not nil, is the text before, between and after the cells, which then
	// have their column's width or their own.
	Between []string
	// Room truncates lines to this many columns; 0 = no limit.
	Room int
}

// Add appends a row; its cells are escaped when printed.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write prints the table: columns two spaces apart, the last one unpadded.
func (t *Table) Write(w io.Writer) error {
	lines := make([][]string, 0, len(t.Rows)+1)
	if !t.NoHeader {
		head := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			head[i] = c.Head
		}
		lines = append(lines, head)
	}
	for _, row := range t.Rows {
		safe := make([]string, len(t.Columns))
		for i := range safe {
			safe[i] = Escape(row[i])
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

func (t *Table) widths(lines [][]string) []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = c.Width
		for _, line := range lines {
			if c.Width == 0 && t.Between == nil {
				widths[i] = max(widths[i], Width(line[i]))
			}
		}
	}
	return widths
}

// Columns with a least width, and names, are shortened so that the last column keeps leastLast.
const leastName, leastLast = 8, 32

// over is how many characters of the last column do not fit the terminal.
func (t *Table) over(widths []int) int {
	if t.Room == 0 || t.Between != nil || len(widths) == 0 {
		return 0
	}
	need := min(widths[len(widths)-1], leastLast)
	for _, width := range widths[:len(widths)-1] {
		need += width + 2
	}
	return need - t.Room
}

func (t *Table) tight(widths []int) bool { return t.over(widths) > 0 }

// fuller is the table without its empty columns, for a terminal that is too narrow for
// them.
func (t *Table) fuller(lines [][]string, widths []int) ([][]string, []int) {
	last := len(widths) - 1
	empty := func(i int) bool {
		for _, row := range t.Rows {
			if row[i] != "-" {
				return false
			}
		}
		return i < last && len(t.Rows) > 0
	}
	kept := make([][]string, len(lines))
	var columns []Column
	var wide []int
	for i, c := range t.Columns {
		if empty(i) {
			continue
		}
		columns, wide = append(columns, c), append(wide, widths[i])
		for k, line := range lines {
			kept[k] = append(kept[k], line[i])
		}
	}
	t.Columns = columns
	return kept, wide
}

// fit narrows the columns that may be narrowed, the widest first, if the terminal is too narrow
// for the last one.
func (t *Table) fit(widths []int) {
	for over := t.over(widths); over > 0; over-- {
		widest := -1
		for i, c := range t.Columns[:len(t.Columns)-1] {
			if c.Width == 0 && widths[i] > c.least() && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for i, c := range t.Columns {
		if c.Width == 0 && t.Room > 0 && t.Between == nil && i < len(t.Columns)-1 && c.least() < math.MaxInt {
			t.Columns[i].Width = widths[i]
		}
	}
}

// least is the width down to which the column may be truncated.
func (c Column) least() int {
	switch {
	case c.Least > 0:
		return max(c.Least, len(c.Head))
	case c.Head == "NAME":
		return leastName
	}
	return math.MaxInt
}

func (t *Table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(t.before(i))
		if t.Columns[i].Width > 0 {
			cell = Cut(cell, widths[i])
		}
		fill := strings.Repeat(" ", max(0, widths[i]-Width(cell)))
		if t.Columns[i].Right {
			b.WriteString(fill + cell)
		} else {
			b.WriteString(cell + fill)
		}
	}
	line := strings.TrimRight(b.String(), " ")
	if t.Between != nil {
		line = b.String() + t.Between[len(cells)]
	}
	if t.Room > 0 && Width(line) > t.Room {
		line = Cut(line, t.Room-1) + "+"
	}
	return line
}

// before is the text before the cell.
func (t *Table) before(i int) string {
	switch {
	case t.Between != nil:
		return t.Between[i]
	case i > 0:
		return "  "
	}
	return ""
}

// Cut returns the beginning of the text that takes at most n columns.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return displaywidth.TruncateString(s, max(n, 0), "")
}

// Room returns the terminal's width if w is one, else 0: output to a file or a pipe is
// never truncated.
func Room(w io.Writer) int {
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
