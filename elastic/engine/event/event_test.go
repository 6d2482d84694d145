package event_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/engine/event"
)

var updateEvents = flag.Bool("update-events", false, "write EVENTS.md anew")

// meanings has the meaning of each field, in the order of event.Fields.
var meanings = map[string]string{
	"move":        "what a move is for: `start`, `resize`, `park`, `revive`, `clear` or `save`",
	"target":      "nodes and GPUs that the job is to have, such as `gpu1:4+gpu2:2`; left out: none",
	"incarnation": "the number of a placing of the job",
	"step":        "the last step of the move that is known to be done, 1 to 7 (R1 to R7 in ARCHITECTURE.md)",
	"checkpoint":  "the name of a checkpoint; left out: none",
	"token":       "the name of the job's folder",
	"owner":       "the user that a confined job counts for",
	"account":     "the service account, whose jobs are confined",
	"slurm_uid":   "the uid that a confined job has in Slurm, or of the service account",
	"act":         "what is about to be done to the job",
	"outcome":     "how the move ended",
	"on":          "nodes and GPUs that the job has, as in `target`",
	"state":       "of the job, in Slurm's words",
	"run":         "the number of the run, from 0: Slurm's count of restarts",
	"began":       "when the script's first line ran, by the clock of its node",
	"passed":      "the names of newer checkpoints that were found bad",
	"problem":     "which problem it is, where a program may have to know",
}

// TestEventsPage: EVENTS.md has every event and every field.
func TestEventsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Events of sluiced's log\n\nWritten by `go test ./elastic/engine/event -run TestEventsPage -update-events`.\n\n" +
		"With `[log] format = \"json\"` a line is a JSON object with `time`, `level`, `message` and, if it is of a kind that\n" +
		"has a name, `event`; `job` if it is about one job. The names of events and fields do not change; new ones may\n" +
		"be added. The message is for people: its wording may change, and programs should not parse it. `act` and `step` are of level debug.\n" +
		"A field that is empty, false or 0 is omitted, except `run`. `format = \"text\"` omits the fields below.\n\n" +
		"| event | fields | meaning |\n|---|---|---|\n")
	for _, k := range event.Kinds {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Fields, k.Means)
	}
	b.WriteString("\n| field | meaning |\n|---|---|\n")
	for _, name := range event.FieldNames() {
		if meanings[name] == "" {
			t.Errorf("what does %s mean?", name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, meanings[name])
	}
	if *updateEvents {
		if err := os.WriteFile("EVENTS.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := os.ReadFile("EVENTS.md"); err != nil || string(raw) != b.String() {
		t.Errorf("EVENTS.md differs (%v); if that is meant, run with -update-events and read the diff", err)
	}
}

// TestEventsAreListed: every event that the engine or the daemon logs is in Kinds.
func TestEventsAreListed(t *testing.T) {
	seen := map[string]bool{}
	for _, pattern := range []string{"../*.go", "../*/*.go", "../../../cmd/sluiced/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if name := eventName(n); name != "" {
					seen[name] = true
					if !slices.ContainsFunc(event.Kinds, func(k event.Kind) bool { return k.Name == name }) {
						t.Errorf("%s: the event %q is not in Kinds", file, name)
					}
				}
				return true
			})
		}
	}
	for _, k := range event.Kinds {
		if !seen[k.Name] {
			t.Errorf("no code logs %q", k.Name)
		}
	}
}

// eventName returns the name of the event that a call logs: log.Tell(at, job, "name", ...) or
// entry.Str("event", "name"); "" = of none.
func eventName(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	text := func(at int) string {
		if at < len(call.Args) {
			if lit, ok := call.Args[at].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				return text
			}
		}
		return ""
	}
	switch {
	case f.Sel.Name == "Tell":
		return text(2)
	case f.Sel.Name == "Str" && text(0) == "event":
		return text(1)
	}
	return ""
}

// TestFieldsAreListed: a field that is set is written under its name, run 0 too.
func TestFieldsAreListed(t *testing.T) {
	zero := 0
	got := fmt.Sprint(event.Fields{Move: "park", RunFields: event.RunFields{Run: &zero, Passed: []string{"00000007"}}}.List()...)
	if !strings.Contains(got, "park") || !strings.Contains(got, "run") || !strings.Contains(got, "00000007") || strings.Contains(got, "step") {
		t.Error(got)
	}
}
