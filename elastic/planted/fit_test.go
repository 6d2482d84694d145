package planted

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
)

// word is a Go token with its place in a text, in bytes.
type word struct {
	tok      token.Token
	lit      string
	from, to int
	// optional: a comma or semicolon whose presence depends on line breaks.
	optional bool
}

// wordsOf splits Go text into tokens, without comments. The semicolons implied by line ends are
// kept, so that "a\nb" is not "a b".
func wordsOf(text string) ([]word, error) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var wrong error
	var s scanner.Scanner
	s.Init(file, []byte(text), func(at token.Position, msg string) {
		if wrong == nil {
			wrong = fmt.Errorf("line %d: %s", at.Line, msg)
		}
	}, 0)
	var all []word
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		w := word{tok: tok, lit: lit, from: file.Offset(pos)}
		switch {
		case tok == token.SEMICOLON:
			w.to = w.from
			if w.lit = ""; lit == ";" { // else implied by a line's end, and without length
				w.lit, w.to = lit, w.from+1
			}
		case lit == "":
			w.to = w.from + len(tok.String())
		default:
			w.to = w.from + len(lit)
		}
		if n := len(all); n > 0 && (tok == token.RPAREN || tok == token.RBRACE || tok == token.RBRACK) {
			last := &all[n-1]
			last.optional = last.tok == token.COMMA || last.tok == token.SEMICOLON
		}
		all = append(all, w)
	}
	return all, wrong
}

// fragment returns Go text of an edit as tokens; its last comma may be missing where it fits.
func fragment(text string) ([]word, error) {
	all, err := wordsOf(text)
	if n := len(all); n > 0 && all[n-1].tok == token.SEMICOLON && all[n-1].lit == "" {
		all = all[:n-1]
	}
	if n := len(all); n > 0 && all[n-1].tok == token.COMMA {
		all[n-1].optional = true
	}
	if err == nil && len(all) == 0 {
		err = errors.New("no Go in the text to replace")
	}
	return all, err
}

// place is a declaration in which an edit is made.
type place struct {
	text  string
	words []word
	// local has the identifiers that are declared within, by offset; key those of them that may
	// also be field names.
	local, key map[int]bool
	bound      map[string]string // names in the edit's address, to those in the source
	fixed      map[string]kind   // names that the declaration does not declare itself
}

// placeOf returns the declaration that an edit names.
func placeOf(e edit, text string) (*place, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, e.File, text, 0)
	if err != nil {
		return nil, err
	}
	decl, bound, err := e.At.find(tree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.File, err)
	}
	base := set.File(tree.Pos()).Base()
	from, to := int(decl.Pos())-base, int(decl.End())-base
	if f, ok := decl.(*ast.FuncDecl); ok {
		from = int(f.Type.Pos()) - base // without its comment
	}
	p := &place{text: text, local: map[int]bool{}, key: map[int]bool{}, bound: bound}
	all, err := wordsOf(text)
	if err != nil {
		return nil, err
	}
	p.words = slices.DeleteFunc(all, func(w word) bool { return w.from < from || w.from >= to })
	pack, err := packageOf(path.Dir(e.File))
	if err != nil {
		return nil, err
	}
	p.fixed = withImports(pack.names, tree)
	p.resolve(decl, base)
	return p, nil
}

// resolve records which identifiers are declared within the declaration.
func (p *place) resolve(decl ast.Decl, base int) {
	fields := map[*ast.Ident]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List {
				for _, name := range f.Names {
					fields[name] = true
				}
			}
		case *ast.InterfaceType:
			for _, f := range n.Methods.List {
				for _, name := range f.Names {
					fields[name] = true
				}
			}
		case *ast.KeyValueExpr:
			if name, ok := n.Key.(*ast.Ident); ok {
				p.key[int(name.Pos())-base] = true
			}
		case *ast.Ident:
			o := n.Obj
			if o != nil && n.Name != "_" && !fields[n] && o.Pos() > decl.Pos() && o.Pos() < decl.End() && !topmost(decl, o.Pos()) {
				p.local[int(n.Pos())-base] = true
			}
		}
		return true
	})
}

// topmost reports whether a name declared at pos is at file level.
func topmost(decl ast.Decl, pos token.Pos) bool {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Pos() == pos
	case *ast.GenDecl:
		return slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
			return slices.ContainsFunc(declared(s), func(n *ast.Ident) bool { return n.Pos() == pos })
		})
	}
	return false
}

// match is where a fragment fits, in bytes, and what its names are in the source.
type match struct {
	from, to int
	names    map[string]string
}

// matches returns all places where the fragment fits.
func (p *place) matches(old []word) []match {
	var all []match
	for at := range p.words {
		if m, ok := p.matchAt(at, old); ok {
			all = append(all, m)
		}
	}
	return all
}

func (p *place) matchAt(at int, old []word) (match, bool) {
	m := match{from: p.words[at].from, names: map[string]string{}}
	taken := map[string]string{} // the other direction: two names stay two
	for name, to := range p.bound {
		m.names[name], taken[to] = to, name
	}
	for i, f := range old {
		for at < len(p.words) && p.words[at].optional && p.words[at].tok != f.tok {
			at++
		}
		if at == len(p.words) || p.words[at].tok != f.tok {
			if f.optional {
				continue
			}
			return m, false
		}
		s := p.words[at]
		at++
		m.to = s.to
		if f.tok != token.IDENT || !p.local[s.from] {
			if f.lit != s.lit && f.tok != token.SEMICOLON {
				return m, false
			}
			continue
		}
		to, known := m.names[f.lit]
		if p.key[s.from] { // a field name, or a variable
			if f.lit != s.lit && to != s.lit {
				return m, false
			}
			continue
		}
		from, used := taken[s.lit]
		if known && to != s.lit || used && from != f.lit || f.lit != s.lit && p.outside(old, i) {
			return m, false
		}
		m.names[f.lit], taken[s.lit] = s.lit, f.lit
	}
	return m, true
}

// outside reports whether a name in the old text belongs to the package, the language or an
// import, and so cannot be renamed. A variable may hide it: for a function, a type or an import
// the next token decides which is meant; a constant or variable of the package is always meant.
func (p *place) outside(old []word, at int) bool {
	next := token.EOF
	if at+1 < len(old) {
		next = old[at+1].tok
	}
	switch p.fixed[old[at].lit] {
	case value:
		return true
	case function:
		return next == token.LPAREN
	case typed:
		return next == token.LPAREN || next == token.LBRACE
	case imported:
		return next == token.PERIOD
	}
	return false
}

// renamed returns Go text with the names of an edit replaced by those of the source.
func renamed(text string, names map[string]string) (string, error) {
	words, err := wordsOf(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	at := 0
	for i, w := range words {
		to := names[w.lit]
		if w.tok != token.IDENT || to == "" || i > 0 && words[i-1].tok == token.PERIOD || isKey(words, i) {
			continue
		}
		b.WriteString(text[at:w.from] + to)
		at = w.to
	}
	return b.String() + text[at:], nil
}

// isKey reports whether an identifier is a field name in a composite literal.
func isKey(words []word, i int) bool {
	return i > 0 && i+1 < len(words) && words[i+1].tok == token.COLON && (words[i-1].tok == token.LBRACE || words[i-1].tok == token.COMMA)
}
