package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// asks are the methods that take a statement, and the index of that argument.
var asks = map[string]int{
	"ExecContext": 1, "QueryContext": 1, "QueryRowContext": 1, "PrepareContext": 1,
	"Exec": 0, "Query": 0, "QueryRow": 0, "Prepare": 0, "rows": 3, "put": 1, "forget": 1,
}

// Every statement is a constant, or an embedded script: values are bound, never formatted into
// the text.
func TestStatementsAreConstant(t *testing.T) {
	files := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if at, ok := asks[method.Sel.Name]; ok && at < len(call.Args) {
				seen++
				if !constantText(call.Args[at]) {
					t.Errorf("%s: the statement is built: use a constant and bind the values", files.Position(call.Pos()))
				}
			}
			return true
		})
	}
	if seen < 15 {
		t.Errorf("only %d statements seen: does the test still look at the right methods?", seen)
	}
}

// constantText accepts a literal or a name: of a constant, of a loop over constants (q.text,
// statement), of an embedded script, or of the parameter through which rows passes one on.
func constantText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		if e.Obj != nil && e.Obj.Kind == ast.Var {
			return e.Name == "statement" || e.Name == "script" || e.Name == "query"
		}
		return true // a constant of this package
	case *ast.SelectorExpr:
		return e.Sel.Name == "text"
	}
	return false
}

func TestScriptsAreNumbered(t *testing.T) {
	steps, err := scripts()
	if err != nil || len(steps) == 0 {
		t.Fatalf("%v, %d migrations", err, len(steps))
	}
}
