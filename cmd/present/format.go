package present

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// Field is one value that a list can show of a T, a job or a node.
type Field[T any] struct {
	Name   string // for -o NAME,NAME
	Letter string // for -o "%L"
	terminal.Column
	Cell func(t *T, at time.Time) string
}

// List is all that a list can show of its elements, and how they are sorted.
type List[T any] struct {
	Fields []Field[T]
	// values are the fields that are not sorted as text, and what they are sorted by.
	values map[string]func(*T) (value float64, known bool)
	first  func(a, b *T) int // the default order
}

var directive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%(\.?)(\d*)(.)`) })

// Layout is a parsed format.
type Layout[T any] struct {
	Fields  []Field[T]
	Between []string // see terminal.Table; nil = aligned columns
}

// ParseFormat parses -o: names separated by commas, or squeue's "%[.][width]letter" with
// any text between. A dot aligns to the right.
func (l List[T]) ParseFormat(format string) (Layout[T], error) {
	if strings.Contains(format, "%") {
		return l.parseLetters(format)
	}
	var out Layout[T]
	for name := range strings.SplitSeq(format, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		f, ok := l.find(func(f Field[T]) bool { return f.Name == name })
		if !ok {
			return Layout[T]{}, fmt.Errorf("invalid field %q in --format: there are %s", name, l.names())
		}
		out.Fields = append(out.Fields, f)
	}
	return out, nil
}

func (l List[T]) parseLetters(format string) (Layout[T], error) {
	var out Layout[T]
	last := 0
	for _, at := range directive().FindAllStringSubmatchIndex(format, -1) {
		m := directive().FindStringSubmatch(format[at[0]:at[1]])
		f, ok := l.find(func(f Field[T]) bool { return f.Letter == m[3] })
		width, err := strconv.Atoi(m[2])
		if !ok || m[2] != "" && (err != nil || width < 1 || width > 1000) {
			return Layout[T]{}, l.badFormat(format[at[0]:])
		}
		f.Right, f.Width = m[1] == ".", width
		out.Fields = append(out.Fields, f)
		out.Between = append(out.Between, format[last:at[0]])
		last = at[1]
	}
	out.Between = append(out.Between, format[last:])
	for _, text := range out.Between {
		if at := strings.Index(text, "%"); at >= 0 {
			return Layout[T]{}, l.badFormat(text[at:])
		}
		if terminal.Escape(text) != text {
			return Layout[T]{}, fmt.Errorf("invalid --format: control characters")
		}
	}
	return out, nil
}

func (l List[T]) badFormat(at string) error {
	return fmt.Errorf("invalid --format at %q: want %%[.][width]letter with one of %s", terminal.Cut(at, 10), l.letters())
}

func (l List[T]) find(is func(Field[T]) bool) (Field[T], bool) {
	for _, f := range l.Fields {
		if is(f) {
			return f, true
		}
	}
	return Field[T]{}, false
}

func (l List[T]) names() string {
	names := make([]string, len(l.Fields))
	for i, f := range l.Fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func (l List[T]) letters() string {
	var b strings.Builder
	for _, f := range l.Fields {
		b.WriteString(f.Letter)
	}
	return b.String()
}

// FormatHelp lists the fields for the help text.
func (l List[T]) FormatHelp() string {
	var b strings.Builder
	b.WriteString("Fields for --format and --sort, by name or by letter:\n")
	for i, f := range l.Fields {
		if i%4 == 0 {
			b.WriteString("\n  ")
		}
		fmt.Fprintf(&b, "%-16s", fmt.Sprintf("%%%s %s", f.Letter, f.Name))
	}
	return b.String()
}

// Table returns a table of the elements, as the layout shows them.
func (l Layout[T]) Table(list []T, at time.Time) terminal.Table {
	t := terminal.Table{Between: l.Between}
	for _, f := range l.Fields {
		t.Columns = append(t.Columns, f.Column)
	}
	for k := range list {
		cells := make([]string, len(l.Fields))
		for i, f := range l.Fields {
			cells[i] = f.Cell(&list[k], at)
		}
		t.Add(cells...)
	}
	return t
}

// Index is the place of a field in the layout, -1 if it is not shown.
func (l Layout[T]) Index(name string) int {
	return slices.IndexFunc(l.Fields, func(f Field[T]) bool { return f.Name == name })
}
