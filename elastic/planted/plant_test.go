package planted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// plant is one deliberate fault.
type plant struct {
	Name   string
	Breaks string // the invariant it breaks, and how: "I5: ..."
	Room   string // the package whose tests must catch it, as a path in the module
	Run    string // which of its tests, as for go test -run
	By     string // the kind of test that catches it, for people
	Cheap  bool   // its tests take 1 to 2 s: it may be drawn in every test run
	Race   bool   // only the race detector can see it
	Edits  []edit

	// For mutants only:
	Skip   string        // tests left out, as for go test -skip
	Short  bool          // as go test -short
	Within time.Duration // how long the tests may take; 0 is patience
}

// edit replaces what fits exactly once: in a declaration of Go, by its tokens; in a file
// without an address, by its text. See doc.go.
type edit struct {
	File     string   // as a path in the module
	At       *address // the declaration; nil if the text is matched letter by letter
	Old, New string
}

// shape of the words in a table.
var (
	nameForm   = regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9-]+$`)
	breaksForm = regexp.MustCompile(`^(I([1-9]|10)|F([1-9]|1[0-8])|S([1-9]|1[0-6])): .+`)
)

// plants reads every table of testdata, in the order of their names.
func plants() ([]plant, error) {
	tables, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		return nil, err
	}
	var all []plant
	taken := map[string]bool{}
	for _, table := range tables {
		raw, err := os.ReadFile(table)
		if err != nil {
			return nil, err
		}
		some, err := parse(strings.TrimSuffix(filepath.Base(table), ".txt"), string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		for _, p := range some {
			if taken[p.Name] {
				return nil, fmt.Errorf("%s: two faults called %s", table, p.Name)
			}
			taken[p.Name] = true
		}
		all = append(all, some...)
	}
	return all, nil
}

// parse reads one table. A fault is a few lines "word value" and then its edits, each the old
// text and the new one between <<<<, ==== and >>>>, in the place that the last "in" before it
// names (doc.go). Lines that begin with # outside of an edit are comments.
func parse(stem, text string) ([]plant, error) {
	t := table{stem: stem}
	for n, line := range strings.Split(text, "\n") {
		if err := t.take(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if t.side != nil {
		return nil, errors.New("an edit without >>>> at the end")
	}
	return t.plants, t.whole()
}

// table is a table being parsed.
type table struct {
	stem   string
	plants []plant
	file   string
	at     *address
	side   *[]string // receives the lines of an edit; nil outside of one
	old    []string
	new    []string
}

func (t *table) take(line string) error {
	switch {
	case t.side != nil:
		return t.within(line)
	case line == "<<<<":
		t.side, t.old, t.new = &t.old, nil, nil
		return nil
	case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		return nil
	}
	word, value, _ := strings.Cut(line, " ")
	return t.set(word, strings.TrimSpace(value))
}

// within takes a line of an edit.
func (t *table) within(line string) error {
	switch line {
	case "====":
		t.side = &t.new
	case ">>>>":
		t.side = nil
		p := t.last()
		if p == nil || t.file == "" {
			return errors.New("an edit of no file")
		}
		p.Edits = append(p.Edits, edit{t.file, t.at, strings.Join(t.old, "\n"), strings.Join(t.new, "\n")})
	default:
		*t.side = append(*t.side, line)
	}
	return nil
}

func (t *table) last() *plant {
	if len(t.plants) == 0 {
		return nil
	}
	return &t.plants[len(t.plants)-1]
}

func (t *table) set(word, value string) error {
	if word == "plant" {
		err := t.whole()
		t.plants, t.file = append(t.plants, plant{Name: t.stem + "/" + value}), ""
		return err
	}
	p := t.last()
	if p == nil {
		return fmt.Errorf("%q before the first fault", word)
	}
	switch word {
	case "in":
		return t.in(value)
	case "breaks":
		p.Breaks = value
	case "tests":
		if p.Room != "" {
			return fmt.Errorf("%s: tests are named twice; the last alone would be run", p.Name)
		}
		p.Room, p.Run, _ = strings.Cut(value, " ")
	case "by":
		p.By = value
	case "cheap":
		p.Cheap = true
	case "race":
		p.Race = true
	default:
		return fmt.Errorf("no such word: %q", word)
	}
	return nil
}

// in parses "FILE", or "FILE DECLARATION".
func (t *table) in(value string) (err error) {
	file, rest, addressed := strings.Cut(value, " ")
	t.file, t.at = file, nil
	if addressed {
		t.at, err = parseAddress(rest)
	}
	return err
}

// whole returns what the last fault lacks.
func (t *table) whole() error {
	p := t.last()
	switch {
	case p == nil:
		return nil
	case !nameForm.MatchString(p.Name):
		return fmt.Errorf("%s: not a name", p.Name)
	case !breaksForm.MatchString(p.Breaks):
		return fmt.Errorf("%s: breaks which promise? %q", p.Name, p.Breaks)
	case p.Room == "" || p.Run == "" || p.By == "" || len(p.Edits) == 0:
		return fmt.Errorf("%s: wants tests, by and an edit", p.Name)
	}
	return nil
}
