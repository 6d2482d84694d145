package elastic_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// partings are functions that split a text or search in it.
var partings = []string{"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "Index", "LastIndex", "EqualFold",
	"TrimPrefix", "TrimSuffix", "Split", "SplitN", "Fields", "Count", "MatchString", "FindStringSubmatch", "FindStringIndex", "FindString", "MustCompile", "Compile"}

// wordy are fields and variables that hold sentences.
var wordy = regexp.MustCompile(`^(Message|Sentence|Text|Why|What|Hint|Reasons?|Notes?|message|sentence|why|hint|reason)$`)

// phrase is more than one word of a sentence.
var phrase = regexp.MustCompile(`[A-Za-z]{2,}[,:]? [a-z]{2,}`)

// partsOf lists where Go code parses a sentence: an error's text, a field for people, or
// anything that is compared with words of a sentence. Each is "FILE FUNCTION: CALL".
func partsOf(file, text string) ([]string, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, d := range tree.Decls {
		in := "-"
		if f, ok := d.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && parts(call) {
				var b strings.Builder
				_ = printer.Fprint(&b, set, call) // into memory
				all = append(all, fmt.Sprintf("%s %s: %s", file, in, b.String()))
			}
			return true
		})
	}
	return all, nil
}

func parts(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(partings, f.Sel.Name) || len(call.Args) == 0 {
		return false
	}
	said := false
	for i, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				said = said || ok && s.Sel.Name == "Error" && len(n.Args) == 0
			case *ast.SelectorExpr:
				said = said || i == 0 && wordy.MatchString(n.Sel.Name)
			case *ast.BasicLit:
				words, _ := strconv.Unquote(n.Value)
				said = said || n.Kind == token.STRING && phrase.MatchString(words)
			}
			return true
		})
	}
	return said
}

// foreign are texts from elsewhere, or names that look like sentences: entries that begin with
// one are allowed.
var foreign = map[string]string{
	"checkpoint/runner/lastwords.go -":            "what a script printed, Slurm's lines and sluice's among it",
	"cmd/site/bench/figures.go countRPCs":         "sdiag",
	"cmd/sluice-plot/figure.go title":             "what a program printed",
	"cmd/sluice/submit_sbatch.go jobID":           "sbatch",
	"cmd/sluice-vaultd/call.go jobNumber":         "sbatch",
	"elastic/audit/check.go survey":               "slurmctld's log",
	"elastic/audit/completions.go":                "Slurm's job completion log",
	"elastic/audit/conf.go":                       "Slurm's configuration",
	"elastic/audit/controller":                    "slurmctld's log",
	"elastic/audit/shown.go":                      "scontrol show job",
	"elastic/engine/journal/how.go last":          "what a program printed",
	"elastic/engine/eligible/site.go Outdated":    "Slurm's reason",
	"elastic/world/story/draw.go":                 "names of Slurm's commands",
	"elastic/world/story/play.go":                 "names of what a story's acts do",
	"elastic/sim/workload/sluice_lines.go decode": "encoding/json has no value for a field that it does not know",
	"etc/notices/licence.go":                      "licences",
	"sbatch/adopt.go parseProgress":               "regexp/syntax; the rest of the text is the user's",
	"sbatch/place.go Error":                       "what the user typed",
	"slurm/":                                      "Slurm's programs, and the fake that speaks as they do",
	// Not in order yet.
	"cmd/site/soak/job.go tolerable": "sluice resize has no exit code for a job that has just ended",
	"cmd/sluice/daemon.go named":     "control.Error does not say which job it is about; the number is looked for, no word",
	"sbatch/request.go unset":        "advice on what to write instead is a sentence, not a value",
}

// TestNoCodeParsesSentences: programs use codes, names and fields. A sentence may be
// improved at any time.
func TestNoCodeParsesSentences(t *testing.T) {
	unused := map[string]bool{}
	for known := range foreign {
		unused[known] = true
	}
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all, err := partsOf(filepath.ToSlash(file), string(raw))
		for _, where := range all {
			known := false
			for prefix := range foreign {
				if strings.HasPrefix(where, prefix) {
					known = true
					delete(unused, prefix)
				}
			}
			if !known {
				t.Errorf("%s\n\ttakes a sentence apart: give it a code or a field; where the text is not sluice's own, list it in foreign", where)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for known := range unused {
		t.Errorf("foreign: nothing in %s takes a text apart", known)
	}
}

// TestPartsOf: the check finds what it should, and allows data.
func TestPartsOf(t *testing.T) {
	for body, want := range map[string]int{
		`return strings.Contains(err.Error(), "has ended")`:                                 1,
		`return strings.HasPrefix(e.Message, "release")`:                                    1,
		`return strings.HasPrefix(line, "the store is missing")`:                            1,
		`_, rest, _ := strings.Cut(r.Reason, ":"); return rest != ""`:                       1,
		`return regexp.MustCompile("^requeue and hold job ([0-9]+)").MatchString(line)`:     1,
		`switch { case strings.HasSuffix(x.Why, "y"), strings.Contains(x.Text, "z"): }`:     2,
		`return errors.Is(err, control.ErrNotFound)`:                                        0,
		`return strings.HasPrefix(path, "elastic/") && strings.Contains(comment, " own=1")`: 0,
		`return e.Act == "release"`:                                                         0,
	} {
		got, err := partsOf("x/y.go", "package y\nfunc f() any {\n"+body+"\nreturn nil }\n")
		if err != nil || len(got) != want {
			t.Errorf("%s: %q, %v; want %d", body, got, err, want)
		}
	}
}
