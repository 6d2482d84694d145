package planted

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wasSource is a file as it was when the edits were written.
const wasSource = `package x

import "fmt"

var limits = map[string]int{"gpus": 4}

func check(int) bool { return true }

type box struct{ size int }

// add puts it in.
func (b *box) add(size, weight int) (err error) {
	// Heavy ones do not fit.
	if size > 10 && check(weight) {
		return fmt.Errorf("%d is too large", size) // nothing is kept
	}
	b.size += size
	kept := box{size: size}
	fmt.Println(kept.size, weight)
	return nil
}
`

// TestAnEditFits: what may change in a function so that the edit still fits, what may not, and
// the resulting source.
func TestAnEditFits(t *testing.T) {
	const where = "func (box) add"
	for _, c := range []struct {
		name, at, old, new string
		change             []string // of the source: old and new text in turn
		want               string   // a text that the edited source contains; "" = the edit is refused
		wrong              string   // part of the error when it is refused
	}{
		{"as it was", where, "if size > 10 && check(weight) {", "if check(weight) {", nil, "\tif check(weight) {\n\t\treturn", ""},
		{"a variable renamed", where, "if size > 10 && check(weight) {", "if size > 11 && check(weight) {",
			[]string{"size > 10 && check(weight)", "n > 10 && check(kg)", "(size, weight int)", "(n, kg int)", "\", size)", "\", n)", "+= size", "+= n", "size: size", "size: n", "size, weight)", "size, kg)"},
			"if n > 11 && check(kg) {", ""},
		{"the receiver renamed", where, "b.size += size", "b.size -= size", []string{"(b *box)", "(c *box)", "b.size +=", "c.size +="}, "c.size -= size", ""},
		{"a field of a variable's name", where, "kept := box{size: size}", "kept := box{size: size + 1}",
			[]string{"(size, weight", "(n, weight", "if size", "if n", "\", size)", "\", n)", "+= size", "+= n", "size: size", "size: n", "kept", "got"}, "got := box{size: n + 1}", ""},
		{"a comment changed", where, "if size > 10 && check(weight) {\n\treturn fmt.Errorf(\"%d is too large\", size)\n}", "",
			[]string{"// Heavy ones do not fit.", "// Only light ones fit.", " // nothing is kept", ""}, "// Only light ones fit.\n\t\n\tb.size += size", ""},
		{"lines reflowed", where, "return fmt.Errorf(\"%d is too large\", size)", "return nil",
			[]string{"fmt.Errorf(\"%d is too large\", size)", "fmt.Errorf(\n\t\t\t\"%d is too large\", // of all\n\t\t\tsize,\n\t\t)"}, "{\n\t\treturn nil // nothing is kept", ""},
		{"a condition broken", where, "if size > 10 && check(weight) {", "if false {", []string{"10 && check", "10 &&\n\t\tcheck"}, "if false {\n", ""},
		{"a line joined", "func check", "func check(int) bool { return true }", "func check(int) bool { return false }", []string{"{ return true }", "{\n\treturn true\n}"}, "bool { return false }", ""},
		{"a table", "var limits", `"gpus": 4`, `"gpus": 5`, []string{`"gpus": 4`, "\n\t\"gpus\":  4,\n"}, "\n\t\"gpus\": 5,\n", ""},
		{"a name of the function's head", "func (b box) add(_, weight) (err)", "fmt.Println(kept.size, ", "b.size, err = weight, nil\nfmt.Println(kept.size, ",
			[]string{"(b *box)", "(c *box)", "b.size +=", "c.size +=", "weight", "kg", "(err error)", "(bad error)"}, "c.size, bad = kg, nil\nfmt.Println(kept.size, kg)", ""},
		{"a part of a line", where, "> 10 &&", "> 12 &&", nil, "if size > 12 && check", ""},

		{"it fits twice", where, "b.size += size", "", []string{"return nil", "b.size += size\n\treturn nil"}, "", "fits 2 times"},
		{"it fits twice under other names", where, "b.size += size", "", []string{"return nil", "kept.size += weight\n\treturn nil"}, "", "fits 2 times"},
		{"another field", where, "b.size += size", "", []string{"b.size +=", "b.volume +="}, "", "fits 0 times"},
		{"another operator", where, "size > 10", "true", []string{"size > 10", "size >= 10"}, "", "fits 0 times"},
		{"another function called", where, "check(weight)", "true", []string{"&& check", "&& measure"}, "", "fits 0 times"},
		{"two names become one", where, "fmt.Println(kept.size, weight)", "", []string{"kept.size, weight", "kept.size, kept"}, "", "fits 0 times"},
		{"no such function", where, "return nil", "return err", []string{") add(", ") put("}, "", "no func (box) add"},
		{"a name that is gone", where, "return nil", "return kept.check(limits)", []string{"limits", "most"}, "", "names limits"},
		{"a variable that the old text does not show", where, "return nil", "weight++\nreturn nil", []string{"weight", "kg"}, "", "names weight"},
		{"a parameter that is gone", "func (box) add(_, weight, _)", "return nil", "return err", nil, "return err", ""},
		{"a name for no parameter", "func (box) add(_, _, depth)", "return nil", "return err", nil, "", `"depth"`},
		{"no Go", where, "// Heavy ones do not fit.", "", nil, "", "no Go"},
	} {
		text := strings.NewReplacer(c.change...).Replace(wasSource)
		at, err := parseAddress(c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, err := applyTo("elastic/planted/x.go", text, []edit{{"elastic/planted/x.go", at, c.old, c.new}})
		if c.want != "" && (err != nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %v, without %q:\n%s", c.name, err, c.want, got)
		}
		if c.want == "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want an error with %q:\n%s", c.name, err, c.wrong, got)
		}
	}
}

// TestAddresses: the forms that can name a declaration.
func TestAddresses(t *testing.T) {
	for _, text := range []string{"func f", "func (T) f", "func (v T) f(a, _, b) (err)", "func f(a)", "const c", "var v", "type t"} {
		if _, err := parseAddress(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"func", "f", "func (T)", "func () f(", "func f(a", "const 1", "method f", "var a, b"} {
		if a, err := parseAddress(text); err == nil {
			t.Errorf("%q: taken as %+v", text, a)
		}
	}
}

// TestPlantsSurviveOtherNames: every fault stays the same fault when all variables of the
// functions that it changes are renamed, comments are removed and lines are broken elsewhere.
func TestPlantsSurviveOtherNames(t *testing.T) {
	all, err := plants()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		by := map[string][]edit{}
		for _, e := range p.Edits {
			if e, err = e.located(); err != nil {
				t.Fatal(err)
			}
			by[e.File] = append(by[e.File], e)
		}
		for file, edits := range by {
			if slices.ContainsFunc(edits, func(e edit) bool { return e.At == nil }) {
				continue // matched letter by letter
			}
			raw, err := os.ReadFile(filepath.Join(source, file))
			if err != nil {
				t.Fatal(err)
			}
			want, err := applyTo(file, string(raw), edits)
			if err != nil {
				t.Errorf("%s: %v", p.Name, err)
				continue
			}
			got, err := applyTo(file, otherwise(t, string(raw), edits), edits)
			if err != nil || code(t, strings.ReplaceAll(got, other, "")) != code(t, want) {
				t.Errorf("%s: not the same fault under other names in %s (%v)", p.Name, file, err)
			}
		}
	}
}

// other is the suffix that variables get in a rewritten text.
const other = "Otherwise"

// otherwise rewrites Go text: other variable names in the declarations that are edited, no
// comments, and more lines.
func otherwise(t *testing.T, text string, edits []edit) string {
	var names []int // offsets of their ends
	for _, e := range edits {
		p, err := placeOf(e, text)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for _, w := range p.words {
			keys[w.lit] = keys[w.lit] || p.key[w.from]
		}
		for _, w := range p.words {
			// A variable that hides a constant or variable of the package keeps its name: see
			// outside.
			if p.local[w.from] && !keys[w.lit] && p.fixed[w.lit] != value && !slices.Contains(names, w.to) {
				names = append(names, w.to)
			}
		}
	}
	words, err := wordsOf(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	at := 0
	for _, w := range words {
		if slices.Contains(names, w.to) && w.tok == token.IDENT {
			b.WriteString(text[at:w.to] + other)
			at = w.to
		}
		if w.tok == token.LPAREN || w.tok == token.LAND || w.tok == token.LOR {
			b.WriteString(text[at:w.to] + " // broken here\n")
			at = w.to
		}
	}
	is, err := bare(b.String() + text[at:])
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// code returns Go text as its tokens, without line breaks.
func code(t *testing.T, text string) string {
	words, err := wordsOf(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, w := range words {
		if !w.optional {
			fmt.Fprintln(&b, w.tok, strings.TrimSuffix(w.lit, ";"))
		}
	}
	return b.String()
}
