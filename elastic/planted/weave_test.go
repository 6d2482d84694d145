package planted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// numberEnv tells a program with many mutants which one to run; without it, none.
const numberEnv = "SLUICE_MUTANT_NUMBER"

// loom puts many mutants into one program, because building one program for each takes longer
// than most tests. Each function gets a copy for every mutant in it, and begins by calling the
// one whose number is in the environment.
type loom struct {
	dir    string // the room
	text   map[string]string
	origin map[string][]copied // by the name of the woven file
}

// copied says which lines of a woven file are a mutant's copy.
type copied struct {
	from, to int
	m        mutant
}

// weavable reports whether a mutant can be a copy of a function. An init cannot be called.
func weavable(m mutant) bool { return m.fn != nil && m.fn.Name.Name != "init" }

// weave writes the files of a room with the mutants in them.
func weave(dir string, all []mutant) (*loom, error) {
	l := &loom{dir: dir, text: map[string]string{}, origin: map[string][]copied{}}
	by := map[string][]mutant{}
	for _, m := range all {
		by[m.file] = append(by[m.file], m)
	}
	for file, some := range by {
		raw, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			return nil, err
		}
		l.file(file, string(raw), some)
	}
	return l, nil
}

func (l *loom) file(file, raw string, some []mutant) {
	slices.SortStableFunc(some, func(a, b mutant) int { return a.start - b.start })
	var out, copies strings.Builder
	at, lines := 0, 0
	for i := 0; i < len(some); {
		d := some[i].fn
		h := header{raw: raw, fn: d}
		h.read()
		out.WriteString(h.named(at))
		at = h.body + 1
		out.WriteString("\nswitch mutantNow {\n")
		for ; i < len(some) && some[i].fn == d; i++ {
			m := some[i]
			fmt.Fprintf(&out, "case %d:\n%s\n", m.number, h.call(m.number))
			text := "\n" + raw[h.begin:h.name] + mutantName(m.number, d) + raw[h.nameEnd:m.start] + m.text + raw[m.end:h.end] + "\n"
			n := strings.Count(text, "\n")
			l.origin[flat(file)] = append(l.origin[flat(file)], copied{lines, lines + n, m})
			lines += n
			copies.WriteString(text)
		}
		out.WriteString("}\n")
	}
	out.WriteString(raw[at:])
	above := strings.Count(out.String(), "\n") + 1
	for i := range l.origin[flat(file)] {
		l.origin[flat(file)][i].from += above
		l.origin[flat(file)][i].to += above
	}
	l.text[file] = out.String() + copies.String()
}

// flat returns a file's name in the folder of woven files.
func flat(file string) string { return strings.ReplaceAll(file, "/", "-") }

func mutantName(number int, d *ast.FuncDecl) string {
	return fmt.Sprintf("mutant%d_%s", number, d.Name.Name)
}

// header is what a function's copies are called with.
type header struct {
	raw                             string
	fn                              *ast.FuncDecl
	begin, name, nameEnd, body, end int // offsets
	names                           []naming
	receiver                        string
	args                            []string
}

// naming gives a name to a parameter that has none.
type naming struct {
	at, end int // the replaced bytes
	text    string
}

func (h *header) read() {
	d := h.fn
	// The file was parsed alone in its own file set, whose base is 1.
	off := func(n ast.Node) (int, int) { return int(n.Pos()) - 1, int(n.End()) - 1 }
	h.begin, h.end = off(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type, Body: d.Body})
	h.name, h.nameEnd = off(d.Name)
	h.body, _ = off(d.Body)
	take := func(field *ast.Field, who string) {
		if len(field.Names) == 0 {
			at, _ := off(field.Type)
			h.names = append(h.names, naming{at, at, who + " "})
			h.args = append(h.args, who)
		}
		for i, n := range field.Names {
			word := n.Name
			if word == "_" {
				word = who + strconv.Itoa(i)
				at, end := off(n)
				h.names = append(h.names, naming{at, end, word})
			}
			h.args = append(h.args, word)
		}
		if _, many := field.Type.(*ast.Ellipsis); many {
			h.args[len(h.args)-1] += "..."
		}
	}
	if d.Recv != nil {
		take(d.Recv.List[0], "mutantOf")
		h.receiver, h.args = h.args[0]+".", nil
	}
	for i, field := range d.Type.Params.List {
		take(field, fmt.Sprintf("mutantArg%d_", i))
	}
}

// named returns the text from an offset to the body's brace, with every parameter named.
func (h *header) named(at int) string {
	var b strings.Builder
	for _, n := range h.names {
		b.WriteString(h.raw[at:n.at] + n.text)
		at = n.end
	}
	return b.String() + h.raw[at:h.body+1]
}

func (h *header) call(number int) string {
	types := ""
	if list := h.fn.Type.TypeParams; list != nil {
		var words []string
		for _, field := range list.List {
			for _, n := range field.Names {
				words = append(words, n.Name)
			}
		}
		types = "[" + strings.Join(words, ", ") + "]"
	}
	call := h.receiver + mutantName(number, h.fn) + types + "(" + strings.Join(h.args, ", ") + ")"
	if h.fn.Type.Results == nil {
		return call + "\nreturn"
	}
	return "return " + call
}

// folders returns where woven files are: a room may have some of another package.
func (l *loom) folders() []string {
	dirs := []string{l.dir}
	for file := range l.text {
		dirs = append(dirs, filepath.Dir(file))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// overlay writes the woven files into a folder, and the list that "go build -overlay" reads.
func (l *loom) overlay(dir string) (string, error) {
	root, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(file, text string) error {
		name := filepath.Join(dir, flat(file))
		replace[filepath.Join(root, file)] = name
		return os.WriteFile(name, []byte(text), 0o600)
	}
	for file, text := range l.text {
		if err := put(file, text); err != nil {
			return "", err
		}
	}
	for _, dir := range l.folders() {
		now := "package " + filepath.Base(dir) + "\n\nimport (\n\"os\"\n\"strconv\"\n)\n\nvar mutantNow, _ = strconv.Atoi(os.Getenv(\"" + numberEnv + "\"))\n"
		if err := put(dir+"/mutant_now.go", now); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

var errorLine = regexp.MustCompile(`(?m)^(?:\./)?([^\s:]+\.go):(\d+):\d+: (.*)`)

// unbuildable returns the numbers of mutants that the compiler refuses.
func (l *loom) unbuildable(ctx context.Context, overlay string) (map[int]bool, error) {
	args := []string{"build", "-gcflags=-e", "-o", os.DevNull}
	for _, dir := range l.folders() {
		args = append(args, "./"+dir)
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = source
	build.Env = environment(overlay)
	text, err := build.CombinedOutput()
	bad := map[int]bool{}
	if err == nil {
		return bad, nil
	}
	for _, at := range errorLine.FindAllStringSubmatch(string(text), -1) {
		line, _ := strconv.Atoi(at[2])
		for _, c := range l.origin[filepath.Base(at[1])] {
			if c.from <= line && line < c.to {
				bad[c.m.number] = true
			}
		}
	}
	if len(bad) == 0 {
		return nil, errors.New(string(text))
	}
	return bad, nil
}

// weaveAll weaves as many of the mutants as the compiler accepts. It returns the overlay and
// those that it does not accept.
func weaveAll(ctx context.Context, room string, all []mutant, dir string) (overlay string, bad map[int]bool, err error) {
	bad = map[int]bool{}
	for range 8 { // the compiler reports all errors of one phase at a time
		left := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return bad[m.number] })
		l, err := weave(room, left)
		if err != nil {
			return "", nil, err
		}
		if overlay, err = l.overlay(dir); err != nil {
			return "", nil, err
		}
		more, err := l.unbuildable(ctx, overlay)
		if err != nil || len(more) == 0 {
			return overlay, bad, err
		}
		for n := range more {
			bad[n] = true
		}
	}
	return "", nil, errors.New("the compiler always finds more to refuse")
}
