package say_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/reason/reasontest"
	"github.com/sluice-hpc/sluice/elastic/say"
)

var update = flag.Bool("update", false, "write REASONS.md anew; read the diff before committing it")

// TestReasonsPage: REASONS.md lists every reason with its arguments and its sentence, once with
// every argument set and once with none.
func TestReasonsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reasons\n\nWritten by `go test ./elastic/say -update`. In the API (`--json`, `why`) a reason is an object of its `code` and of the\n" +
		"arguments that are not zero. Lengths are in seconds, times as in RFC 3339. The sentence is the one with every argument\nset.\n\n" +
		"| code | meaning | arguments | sentence |\n|---|---|---|---|\n")
	meanings := meanings(t)
	for _, kind := range reason.Kinds() {
		code, filled := reason.CodeOf(kind), reasontest.Filled(kind)
		sentence := say.Reason(filled, reasontest.Now)
		if sentence == "" || sentence == reason.String(filled) {
			t.Errorf("nothing is said of %s", code)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code, meanings[reflect.TypeOf(kind).Name()], arguments(kind), strings.ReplaceAll(sentence, "|", "\\|"))
	}
	if *update {
		if err := os.WriteFile("REASONS.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("REASONS.md")
	if err != nil || b.String() != string(want) {
		t.Errorf("REASONS.md differs (%v): read the sentences, then run with -update. Got:\n%s", err, b.String())
	}
}

// arguments names the arguments of a kind.
func arguments(kind reason.Reason) string {
	of := reflect.TypeOf(kind)
	if of.Kind() != reflect.Struct {
		return ""
	}
	_, data, _ := strings.Cut(reason.Encode(reasontest.Filled(kind)), "{")
	var names []string
	for i := range of.NumField() {
		if f := of.Field(i); f.IsExported() {
			if name := reason.ArgumentName(f.Name); strings.Contains(data, `"`+name+`":`) {
				names = append(names, "`"+name+"`")
			}
		}
	}
	return strings.Join(names, ", ")
}

// meanings returns the comments of the types of reasons, without their names.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("../reason/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				if spec, ok := n.Specs[0].(*ast.TypeSpec); ok && len(n.Specs) == 1 {
					out[spec.Name.Name] = meaning(spec.Name.Name, n.Doc)
				}
			case *ast.TypeSpec:
				if n.Doc != nil {
					out[n.Name.Name] = meaning(n.Name.Name, n.Doc)
				}
			}
			return true
		})
	}
	delete(out, "Plain") // one comment for all
	return out
}

func meaning(name string, doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	if short, ok := strings.CutPrefix(text, name+": "); ok && short != "" {
		return strings.ToUpper(short[:1]) + short[1:]
	}
	return text
}

// TestDeservedOfNoAccount: a user that no account of the site's own tree lists is told so.
func TestDeservedOfNoAccount(t *testing.T) {
	for want, r := range map[string]reason.Deserved{
		"the 2 GPUs that user eve of no account with shares deserves now": {User: "eve", GPUs: 2},
		"the 2 GPUs that user eve of account bio deserves now":            {User: "eve", Account: "bio", GPUs: 2},
		"the 2 GPUs that account bio deserves now":                        {Account: "bio", GPUs: 2},
	} {
		if got := say.Reason(r, reasontest.Now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
