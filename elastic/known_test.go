package elastic_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// The lists contain every kind and step in the source.
func TestEveryKindAndStepIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "intent.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds, steps := 0, 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil || len(spec.Values) != 1 {
			return true
		}
		value := spec.Values[0].(*ast.BasicLit).Value
		switch spec.Type.(*ast.Ident).Name {
		case "Kind":
			kinds++
			if name, err := strconv.Unquote(value); err != nil || !slices.Contains(elastic.Kinds(), elastic.Kind(name)) {
				t.Errorf("kind %s is not in Kinds", value)
			}
		case "Step":
			steps++
			if number, err := strconv.Atoi(value); err != nil || !slices.Contains(elastic.MoveSteps(), elastic.Step(number)) {
				t.Errorf("step %s is not in MoveSteps", value)
			}
		}
		return true
	})
	if kinds != len(elastic.Kinds()) || steps != len(elastic.MoveSteps()) || kinds == 0 {
		t.Errorf("the source has %d kinds and %d steps, the lists %d and %d", kinds, steps, len(elastic.Kinds()), len(elastic.MoveSteps()))
	}
}
