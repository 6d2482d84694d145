package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// most bounds the methods of a type, wide the fields of a struct that has more than
// mostFields. Whoever takes something out lowers the figure; none is ever raised. The goal is
// 20 methods on Engine, and no entry in wide.
var (
	most = map[string]int{"Engine": 165, "jobState": 34}
	wide = map[string]int{"Config": 21, "Engine": 34, "JobRecord": 22, "JobReport": 20}
)

// mostFields is how many fields any other struct may have.
const mostFields = 12

// TestEngineOnlyShrinks: concerns leave the engine for packages of their own, and none comes
// back.
func TestEngineOnlyShrinks(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods, fields := map[string]int{}, map[string]int{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				methods[receiver(n)]++
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					fields[n.Name.Name] = width(s)
				}
			}
			return true
		})
	}
	for name, bound := range most {
		t.Logf("%s has %d methods and %d fields", name, methods[name], fields[name])
		if n := methods[name]; n > bound {
			t.Errorf("%s has %d methods, more than %d: write a function of what it needs, in the package of its concern", name, n, bound)
		}
	}
	for name, n := range fields {
		if bound := max(wide[name], mostFields); n > bound {
			t.Errorf("%s has %d fields, more than %d: group them by concern", name, n, bound)
		}
	}
	for name := range wide {
		if fields[name] == 0 {
			t.Errorf("%s is no struct of this package any more; take it out of the list", name)
		}
	}
}

// receiver is the type that a function is a method of; "" = none.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// width is how many fields a struct has, an embedded one being one.
func width(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}
