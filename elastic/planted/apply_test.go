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
	"strings"
)

// source is the root of the module.
const source = "../.."

// applied returns the files that the fault changes, by their path in the module,
// as they are with it.
func (p plant) applied() (map[string]string, error) {
	out := map[string]string{}
	for _, e := range p.Edits {
		text, begun := out[e.File]
		if !begun {
			raw, err := os.ReadFile(filepath.Join(source, e.File))
			if err != nil {
				return nil, err
			}
			text = string(raw)
		}
		if n := strings.Count(text, e.Old); n != 1 || e.Old == "" {
			return nil, fmt.Errorf("the text to replace stands %d times in %s, not once:\n%s", n, e.File, e.Old)
		}
		out[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return out, nil
}

// bare is a Go file's code without comments, printed.
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

// overlay writes the changed files and the list that "go build -overlay" wants
// into dir, and returns the list's name.
func (p plant) overlay(dir string) (string, error) {
	changed, err := p.applied()
	if err != nil {
		return "", err
	}
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
