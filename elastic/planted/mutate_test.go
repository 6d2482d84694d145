package planted

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change of a file, made by rule.
type mutant struct {
	Name       string // file: function: rule: the changed words; with a number if that is not unique
	file       string // as a path in the module
	line       int
	start, end int // the replaced bytes
	text       string
	fn         *ast.FuncDecl // the function it is in; nil in tables and constants
	number     int           // in a program with many mutants, from 1
}

// change returns the mutant's file without and with the mutant.
func (m mutant) change() (was, is string, err error) {
	raw, err := os.ReadFile(filepath.Join(source, m.file))
	if err != nil {
		return "", "", err
	}
	was = string(raw)
	return was, was[:m.start] + m.text + was[m.end:], nil
}

// mutantsOf lists all mutants of a file, in the order of its text.
func mutantsOf(file string) ([]mutant, error) {
	raw, err := os.ReadFile(filepath.Join(source, file))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, raw, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &mutator{set: set, file: file, raw: string(raw)}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				f.in, f.fn = d.Name.Name, d
				f.early(d)
				ast.Inspect(d.Body, f.visit)
			}
		case *ast.GenDecl: // tables and constants
			f.in, f.fn = "-", nil
			ast.Inspect(d, f.visit)
		}
	}
	times := map[string]int{}
	for i := range f.all {
		m := &f.all[i]
		times[m.Name]++
		if n := times[m.Name]; n > 1 {
			m.Name += fmt.Sprintf(" #%d", n)
		}
	}
	slices.SortStableFunc(f.all, func(a, b mutant) int { return a.start - b.start })
	return f.all, nil
}

// mutator collects the mutants of one file.
type mutator struct {
	set      *token.FileSet
	file, in string
	fn       *ast.FuncDecl
	raw      string
	all      []mutant
}

func (f *mutator) at(p token.Pos) int { return f.set.Position(p).Offset }

func (f *mutator) add(rule string, from, to token.Pos, text string) {
	start, end := f.at(from), f.at(to)
	words := []rune(strings.Join(strings.Fields(f.raw[start:end]), " "))
	if len(words) > 60 {
		words = append(words[:60], '~')
	}
	name := fmt.Sprintf("%s: %s: %s: %s", f.file, f.in, rule, string(words))
	f.all = append(f.all, mutant{Name: name, file: f.file, line: f.set.Position(from).Line, start: start, end: end, text: text, fn: f.fn})
}

func (f *mutator) of(n ast.Node) string { return f.raw[f.at(n.Pos()):f.at(n.End())] }

// swapped are the operators that are replaced, with their replacements.
var swapped = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

func (f *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.IfStmt:
		f.condition(n)
	case *ast.ExprStmt:
		f.add("dropped", n.Pos(), n.End(), "")
	case *ast.IncDecStmt:
		f.add("dropped", n.Pos(), n.End(), "")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.drop(n)
		}
	case *ast.BinaryExpr:
		if to, ok := swapped[n.Op]; ok && !(n.Op == token.ADD && f.joins(n)) {
			f.add("changed "+n.Op.String()+" in "+f.brief(n), n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to)
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 62); n.Kind == token.INT && err == nil {
			f.add("off by one", n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
		}
	}
	return true
}

// brief returns the words around an operator, so that the mutant's name identifies it.
func (f *mutator) brief(n ast.Node) string {
	words := []rune(strings.Join(strings.Fields(f.of(n)), " "))
	return string(words[:min(len(words), 60)])
}

// condition mutates the condition of an if: negated or, if it is about an error, never true.
func (f *mutator) condition(n *ast.IfStmt) {
	cond := f.of(n.Cond)
	f.add("negated", n.Cond.Pos(), n.Cond.End(), "!("+cond+")")
	if c, ok := n.Cond.(*ast.BinaryExpr); ok && c.Op == token.NEQ && f.of(c.Y) == "nil" && strings.HasSuffix(strings.ToLower(f.of(c.X)), "err") {
		f.add("error ignored", n.Cond.Pos(), n.Cond.End(), "false && "+cond)
	}
}

// drop removes an assignment; the assigned value is still computed.
func (f *mutator) drop(n *ast.AssignStmt) {
	if n.Tok != token.ASSIGN {
		f.add("dropped", n.Pos(), n.End(), "_ = "+f.of(n.Rhs[0]))
		return
	}
	var blanks []string
	for range n.Lhs {
		blanks = append(blanks, "_")
	}
	if all := strings.Join(blanks, ", "); all != f.raw[f.at(n.Lhs[0].Pos()):f.at(n.Lhs[len(n.Lhs)-1].End())] {
		f.add("dropped", n.Pos(), n.End(), all+" = "+f.raw[f.at(n.Rhs[0].Pos()):f.at(n.Rhs[len(n.Rhs)-1].End())])
	}
}

// joins reports whether a sum concatenates strings.
func (f *mutator) joins(n *ast.BinaryExpr) bool {
	return strings.ContainsAny(f.of(n), "\"`")
}

// early makes a function return at once, with the zero value of each result if its type allows
// that.
func (f *mutator) early(d *ast.FuncDecl) {
	var zeros []string
	if r := d.Type.Results; r != nil && len(r.List[0].Names) == 0 {
		for _, field := range r.List {
			zero, ok := zeroOf(field.Type)
			if !ok {
				return
			}
			zeros = append(zeros, zero)
		}
	}
	if len(d.Body.List) > 0 {
		f.add("returns at once", d.Body.Lbrace, d.Body.Lbrace+1, "{\nif true { return "+strings.Join(zeros, ", ")+" }\n")
	}
}

func zeroOf(t ast.Expr) (string, bool) {
	switch t := t.(type) {
	case *ast.StarExpr, *ast.MapType, *ast.FuncType, *ast.InterfaceType:
		return "nil", true
	case *ast.ArrayType:
		return "nil", t.Len == nil
	case *ast.Ident:
		zero, ok := map[string]string{"bool": "false", "int": "0", "int64": "0", "uint32": "0", "float64": "0", "string": `""`, "error": "nil"}[t.Name]
		return zero, ok
	}
	return "", false
}
