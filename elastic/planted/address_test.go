package planted

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// address says in which declaration of a file an edit is made: "func Name", "func (T) Name",
// "const Name", "var Name" or "type Name". For a function it may name the receiver, parameters
// and results that only the new text uses: "func (e Engine) act(ctx, _, snap) (err)".
type address struct {
	word, receiver, name string
	of                   string   // the receiver's name in the edit
	params, results      []string // likewise, by position
}

// parseAddress reads the text after a file's name.
func parseAddress(text string) (*address, error) {
	word, rest, _ := strings.Cut(text, " ")
	a := &address{word: word, name: rest}
	switch word {
	case "const", "var", "type":
		if !token.IsIdentifier(rest) {
			return nil, fmt.Errorf("%q: want: %s NAME", text, word)
		}
		return a, nil
	case "func":
		return a, a.function(rest)
	}
	return nil, fmt.Errorf("%q: want func, const, var or type, and a name", text)
}

func (a *address) function(text string) error {
	if inside, rest, ok := strings.Cut(strings.TrimPrefix(text, "("), ") "); ok && strings.HasPrefix(text, "(") {
		of, receiver, named := strings.Cut(inside, " ")
		if a.receiver, text = of, rest; named {
			a.of, a.receiver = of, receiver
		}
	}
	name, lists, named := strings.Cut(text, "(")
	a.name = strings.TrimSpace(name)
	if named {
		// The parser reads "func name(a, b) (c)" as types without names, which works as well.
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f("+lists, parser.SkipObjectResolution)
		if err != nil || len(tree.Decls) != 1 {
			return fmt.Errorf("%q: want: func (T) NAME(PARAMETER, ...) (RESULT, ...)", text)
		}
		f := tree.Decls[0].(*ast.FuncDecl).Type
		a.params, a.results = listed(f.Params), listed(f.Results)
	}
	if !token.IsIdentifier(a.name) {
		return fmt.Errorf("%q is no name of a function", a.name)
	}
	return nil
}

func listed(list *ast.FieldList) (names []string) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		if n, ok := f.Type.(*ast.Ident); ok {
			names = append(names, n.Name)
		}
	}
	return names
}

// find returns the declaration in a file, and the names there of what the address names.
func (a *address) find(tree *ast.File) (ast.Decl, map[string]string, error) {
	bound := map[string]string{}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if a.word == "func" && d.Name.Name == a.name && receiverOf(d) == a.receiver && d.Body != nil {
				return d, bound, a.bind(d, bound)
			}
		case *ast.GenDecl:
			if d.Tok.String() != a.word {
				continue
			}
			for _, s := range d.Specs {
				if slices.ContainsFunc(declared(s), func(n *ast.Ident) bool { return n.Name == a.name }) {
					return &ast.GenDecl{Tok: d.Tok, TokPos: s.Pos(), Specs: []ast.Spec{s}}, bound, nil
				}
			}
		}
	}
	return nil, nil, fmt.Errorf("no %s", a)
}

func (a address) String() string {
	if a.receiver != "" {
		return fmt.Sprintf("%s (%s) %s", a.word, a.receiver, a.name)
	}
	return a.word + " " + a.name
}

// declared returns the names that a line of a declaration declares.
func declared(s ast.Spec) []*ast.Ident {
	switch s := s.(type) {
	case *ast.ValueSpec:
		return s.Names
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	}
	return nil
}

// receiverOf returns the type that a method belongs to, without star and parameters.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// bind pairs the address's names with the function's, by position.
func (a *address) bind(d *ast.FuncDecl, bound map[string]string) error {
	pair := func(ours []string, list *ast.FieldList) error {
		var theirs []string
		if list != nil {
			for _, f := range list.List {
				for _, n := range f.Names {
					theirs = append(theirs, n.Name)
				}
			}
		}
		for i, name := range ours {
			switch {
			case name == "_":
			case i >= len(theirs) || theirs[i] == "_":
				return fmt.Errorf("%s: what %q names has no name there", a, name)
			default:
				bound[name] = theirs[i]
			}
		}
		return nil
	}
	var of []string
	if a.of != "" {
		of = []string{a.of}
	}
	return errors.Join(pair(of, d.Recv), pair(a.params, d.Type.Params), pair(a.results, d.Type.Results))
}
