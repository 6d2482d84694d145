package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// mostMethods bounds the methods of a type of the engine's packages, without those of embedded types.
// mostFields bounds the fields of a struct; an embedded struct counts as one. many has the types
// with more methods. A figure may be lowered, never raised.
const mostMethods, mostFields = 20, 12

var many = map[string]int{"track.State": 66, "track.Job": 41, "execute.Executor": 25}

// TestRoomsStaySmall: no type of the engine's packages exceeds these bounds.
func TestRoomsStaySmall(t *testing.T) {
	methods, fields := map[string]int{}, map[string]int{}
	for _, pattern := range []string{"*.go", "*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				measure(t, name, methods, fields)
			}
		}
	}
	for name, n := range methods {
		if bound := max(many[name], mostMethods); n > bound {
			t.Errorf("%s has %d methods, more than %d: write a function of what it needs, in the room of its concern", name, n, bound)
		}
	}
	for name, n := range fields {
		if n > mostFields {
			t.Errorf("%s has %d fields, more than %d: group them by concern", name, n, mostFields)
		}
	}
	for name, bound := range many {
		if n := methods[name]; n != bound {
			t.Errorf("%s has %d methods; lower the figure in many, which is %d", name, n, bound)
		}
	}
	if methods["engine.Engine"] == 0 || fields["track.Job"] == 0 {
		t.Error("Engine or Job was not found: what is measured is something else")
	}
}

// measure counts methods and fields of the types in a file.
func measure(t *testing.T, name string, methods, fields map[string]int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	room := file.Name.Name + "."
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if of := receiver(n); of != "" {
				methods[room+of]++
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				fields[room+n.Name.Name] = width(s)
			}
		}
		return true
	})
}

// receiver returns the type of which a function is a method; "" = none.
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

// width returns the number of fields of a struct; an embedded struct counts as one.
func width(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}
