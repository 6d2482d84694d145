package planted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is the root of the module.
const source = "../.."

// applied returns the files that the fault changes, by their path in the module, with the
// fault.
func (p plant) applied() (map[string]string, error) {
	by := map[string][]edit{}
	for _, e := range p.Edits {
		e, err := e.located()
		if err != nil {
			return nil, err
		}
		by[e.File] = append(by[e.File], e)
	}
	out := map[string]string{}
	for file, edits := range by {
		raw, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			return nil, err
		}
		if out[file], err = applyTo(file, string(raw), edits); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// splice is an edit resolved in a file: bytes from..to become text.
type splice struct {
	from, to int
	text     string
}

// applyTo makes all edits of a file, each located in the unchanged text.
func applyTo(file, text string, edits []edit) (string, error) {
	var all []splice
	for _, e := range edits {
		s, err := e.fit(text)
		if err != nil {
			return "", err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b splice) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, s := range all {
		if s.from < at {
			return "", fmt.Errorf("two edits of %s meet at %q", file, text[s.from:s.to])
		}
		b.WriteString(text[at:s.from] + s.text)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String(), newNames(file, text, b.String())
}

// newNames refuses an edit whose new text uses names that do not occur in the file: that fault
// would not build, so no test could catch it.
func newNames(file, was, is string) error {
	if !strings.HasSuffix(file, ".go") {
		return nil
	}
	before, err := unknown(file, was)
	if err != nil {
		return err
	}
	after, err := unknown(file, is)
	if err != nil {
		return err
	}
	after = slices.DeleteFunc(after, func(name string) bool { return slices.Contains(before, name) })
	if len(after) > 0 {
		return fmt.Errorf("in %s the new text names %s, which is nothing there", file, strings.Join(after, ", "))
	}
	return nil
}

// fit returns the one place of an edit.
func (e edit) fit(text string) (splice, error) {
	if e.At == nil {
		if n := strings.Count(text, e.Old); n != 1 || e.Old == "" {
			return splice{}, fmt.Errorf("the text to replace stands %d times in %s, not once:\n%s", n, e.File, e.Old)
		}
		at := strings.Index(text, e.Old)
		return splice{at, at + len(e.Old), e.New}, nil
	}
	where, err := placeOf(e, text)
	if err != nil {
		return splice{}, err
	}
	old, err := fragment(e.Old)
	if err != nil {
		return splice{}, fmt.Errorf("%w:\n%s", err, e.Old)
	}
	all := where.matches(old)
	if len(all) != 1 {
		return splice{}, fmt.Errorf("the text to replace fits %d times in %s of %s, not once:\n%s", len(all), e.At, e.File, e.Old)
	}
	is, err := renamed(strings.TrimSpace(e.New), all[0].names)
	return splice{all[0].from, all[0].to, is}, err
}

// bare returns a Go file's code without comments, printed.
func bare(text string) (string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = printer.Fprint(&b, set, (*ast.File)(file))
	return b.String(), err
}

// overlay writes the files that the fault changes into dir.
func (p plant) overlay(dir string) (string, error) {
	changed, err := p.applied()
	if err != nil {
		return "", err
	}
	return overlay(changed, dir)
}

// overlay writes changed files, and the list that "go build -overlay" reads, into dir, and
// returns the list's name.
func overlay(changed map[string]string, dir string) (string, error) {
	root, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range changed {
		put := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(put, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = put
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}
