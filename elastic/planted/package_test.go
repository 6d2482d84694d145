package planted

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// pack is the declarations in a folder's Go files.
type pack struct {
	names map[string]kind     // names that any function there may use, the language's own included
	files map[string][]string // the file of a declaration, by its address
}

// kind is what a name at package level stands for.
type kind int

const (
	nothing kind = iota
	value        // a variable or constant
	function
	typed // a type
	imported
)

// kindOf returns the kind of an object of the language.
func kindOf(o types.Object) kind {
	switch o.(type) {
	case *types.Builtin:
		return function
	case *types.TypeName:
		return typed
	}
	return value
}

// name records the package-level names that a file declares.
func (p pack) name(tree *ast.File) {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				p.names[d.Name.Name] = function
			}
		case *ast.GenDecl:
			is := value
			if d.Tok == token.TYPE {
				is = typed
			}
			for _, s := range d.Specs {
				for _, name := range declared(s) {
					p.names[name.Name] = is
				}
			}
		}
	}
}

var packs sync.Map // by folder

// packageOf reads the Go files of a folder, once, without its tests.
func packageOf(dir string) (pack, error) {
	if p, ok := packs.Load(dir); ok {
		return p.(pack), nil
	}
	p := pack{names: map[string]kind{}, files: map[string][]string{}}
	for _, name := range types.Universe.Names() {
		p.names[name] = kindOf(types.Universe.Lookup(name))
	}
	files, err := filepath.Glob(filepath.Join(source, dir, "*.go"))
	if err != nil {
		return p, err
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(f)
		if err != nil {
			return p, err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, raw, 0)
		if err != nil {
			return p, err
		}
		p.name(tree)
		p.index(path.Join(dir, filepath.Base(f)), tree)
	}
	packs.Store(dir, p)
	return p, nil
}

func (p pack) index(file string, tree *ast.File) {
	add := func(a address) {
		if key := a.String(); !slices.Contains(p.files[key], file) {
			p.files[key] = append(p.files[key], file)
		}
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				add(address{word: "func", receiver: receiverOf(d), name: d.Name.Name})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				for _, name := range declared(s) {
					add(address{word: d.Tok.String(), name: name.Name})
				}
			}
		}
	}
}

// located returns the edit with the file of its declaration, if it names a folder: functions
// are moved between files.
func (e edit) located() (edit, error) {
	if e.At == nil || strings.HasSuffix(e.File, ".go") {
		return e, nil
	}
	p, err := packageOf(e.File)
	if err != nil {
		return e, err
	}
	files := p.files[e.At.String()]
	if len(files) != 1 {
		return e, fmt.Errorf("%d files of %s have %s, not one", len(files), e.File, e.At)
	}
	e.File = files[0]
	return e, nil
}

// withImports adds the names of the packages that a file imports.
func withImports(names map[string]kind, tree *ast.File) map[string]kind {
	all := maps.Clone(names)
	for _, i := range tree.Imports {
		if i.Name != nil {
			all[i.Name.Name] = imported
			continue
		}
		p, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(p)
		if len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' {
			name = path.Base(path.Dir(p)) // math/rand/v2
		}
		all[strings.TrimPrefix(name, "go-")] = imported
	}
	return all
}

// unknown returns the names in Go text of a file that are not declared there.
func unknown(file, text string) ([]string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
	if err != nil {
		return nil, err
	}
	p, err := packageOf(path.Dir(file))
	if err != nil {
		return nil, err
	}
	names := withImports(p.names, tree)
	var all []string
	for _, n := range tree.Unresolved {
		if names[n.Name] == nothing && !slices.Contains(all, n.Name) {
			all = append(all, n.Name)
		}
	}
	return all, nil
}
