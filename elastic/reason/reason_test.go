package reason_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/reason/reasontest"
)

// TestKindsAreAll: every reason of the package can be decoded.
func TestKindsAreAll(t *testing.T) {
	known := map[string]bool{}
	for _, r := range reason.Kinds() {
		code := string(reason.CodeOf(r))
		if known[code] {
			t.Errorf("two reasons have the code %s", code)
		}
		known[code] = true
	}
	names, plain := declared(t)
	for _, name := range names {
		if !slices.ContainsFunc(reason.Kinds(), func(r reason.Reason) bool { return reflect.TypeOf(r).Name() == name }) {
			t.Errorf("%s is not in the list of kinds.go", name)
		}
	}
	for _, code := range plain {
		if !known[code] {
			t.Errorf("the constant of code %s is not in the list of kinds.go", code)
		}
	}
}

// declared returns the structs that embed value, and the codes of Plain constants, in the
// source.
func declared(t *testing.T) (structs, codes []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, c := declaredIn(f)
		structs, codes = append(structs, s...), append(codes, c...)
	}
	if len(structs) < 50 || len(codes) < 50 {
		t.Fatalf("found %d structs and %d constants", len(structs), len(codes))
	}
	return structs, codes
}

func declaredIn(f *ast.File) (structs, codes []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			of, ok := n.Type.(*ast.StructType)
			if !ok || len(of.Fields.List) == 0 {
				return true
			}
			if id, ok := of.Fields.List[0].Type.(*ast.Ident); ok && len(of.Fields.List[0].Names) == 0 && id.Name == "value" {
				structs = append(structs, n.Name.Name)
			}
		case *ast.ValueSpec:
			if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Plain" {
				codes = append(codes, strings.Trim(n.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	return structs, codes
}

// TestEveryReasonComesBack: a reason that was encoded is decoded unchanged, with every argument
// set and with none.
func TestEveryReasonComesBack(t *testing.T) {
	for _, kind := range reason.Kinds() {
		if _, unknown := kind.(reason.Unknown); unknown {
			continue
		}
		for _, r := range []reason.Reason{kind, reasontest.Filled(kind)} {
			want := reason.Normal(r)
			if got := reason.Decode(reason.Encode(r)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s comes back as %s", reason.String(want), reason.String(got))
			}
		}
	}
}

// TestNoLength: an infinite or NaN duration does not break an answer of the API.
func TestNoLength(t *testing.T) {
	why := reason.Keeps{GPUs: 2, Because: reason.RestTakes{After: math.Inf(1), Before: math.NaN(), Assumed: true}}
	got, err := json.Marshal(reason.Value{Reason: why})
	if want := `{"code":"keeps","gpus":2,"because":{"code":"rest_takes","assumed":true}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// TestWhatCannotBeRead: an older sluice's sentence becomes a Text, and a newer one's code is
// kept.
func TestWhatCannotBeRead(t *testing.T) {
	for text, want := range map[string]reason.Reason{
		"":                              nil,
		"grows 1 -> 2":                  reason.Text{Text: "grows 1 -> 2"},
		`{"gpus":4}`:                    reason.Text{Text: `{"gpus":4}`},
		`{"code":"keeps","gpus":"x"}`:   reason.Text{Text: `{"code":"keeps","gpus":"x"}`},
		`{"code":"of 2031","gpus":[4]}`: reason.Unknown{JSON: `{"code":"of 2031","gpus":[4]}`},
		"null":                          nil,
	} {
		got := reason.Decode(text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %s, want %s", text, reason.String(got), reason.String(want))
		}
		if u, unknown := got.(reason.Unknown); unknown && reason.Encode(u) != text {
			t.Errorf("%q is passed on as %q", text, reason.Encode(u))
		}
	}
}

// TestCauses: the cause of a reason can be read and replaced, also within an All.
func TestCauses(t *testing.T) {
	why := reason.Join(reason.Keeps{GPUs: 4, Because: reason.AtMaximum}, nil, reason.CanStartAt{At: time.Unix(0, 0)})
	if got, want := reason.String(reason.Cause(why)), "all (at_maximum) (can_start_at at=1970-01-01T00:00:00Z)"; got != want {
		t.Errorf("its cause is %s, want %s", got, want)
	}
	other := reason.Recause(why, reason.NoneIdle)
	if got, want := reason.String(other), "all (keeps gpus=4 because=(none_idle)) (can_start_at at=1970-01-01T00:00:00Z)"; got != want {
		t.Errorf("with another cause it is %s, want %s", got, want)
	}
	for _, r := range []reason.Reason{reason.StartsAtMinimum{GPUs: 2}, reason.StartsOnReturned{GPUs: 2}, reason.Pinned} {
		if got := reason.Cause(r); got != nil {
			t.Errorf("%s has the cause %s", reason.String(r), reason.String(got))
		}
	}
	if !reason.Has(other, "none_idle") || reason.Has(other, "at_maximum") || reason.Has(nil, "keeps") {
		t.Error("Has does not look into the parts of a reason, or finds what is not there")
	}
	if reason.Cause(reason.All{}) != nil || !reflect.DeepEqual(reason.Recause(reason.All{}, reason.Pinned), reason.All{}) {
		t.Error("no reasons have no cause")
	}
	if reason.Join() != nil || reason.Join(nil, reason.Pinned) != reason.Reason(reason.Pinned) {
		t.Error("no reasons are none, and one is that one")
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range reason.Kinds() {
		f.Add(reason.Encode(reasontest.Filled(kind)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := reason.Decode(text)
		again := reason.Decode(reason.Encode(r))
		if u, unknown := r.(reason.Unknown); unknown && !json.Valid([]byte(u.JSON)) {
			t.Errorf("%q is kept as an unknown reason", text)
		}
		if a, b := reason.Encode(r), reason.Encode(again); a != b {
			t.Errorf("%q is written as %s, and then as %s", text, a, b)
		}
	})
}
