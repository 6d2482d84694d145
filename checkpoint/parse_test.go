package checkpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/nodes"
)

var split = nodes.Placement{{Node: "gpu1", GPUs: 4}, {Node: "gpu2", GPUs: 1}}

func exampleRequest() Request {
	return Request{Version: 1, Job: 42, ID: "17-3", Incarnation: 2, Restarts: 1, Target: split,
		Asked: noon, Deadline: noon.Add(300e9), Why: "grow"}
}

func exampleTarget() Target {
	return Target{Version: 1, Job: 42, Incarnation: 3, Split: split, Checkpoint: "00000007", Largest: 12}
}

func exampleRunner() Runner {
	return Runner{Version: 1, Job: 42, Restarts: 1, Incarnation: 2, State: Waiting, Host: "gpu1", PID: 99, Split: split,
		Resumed: "00000006", Skipped: []string{"00000007: damaged"}, FirstLine: noon, Beat: noon,
		Answer: &Answer{Request: "17-3", Checkpoint: "00000008", Step: 80, Epoch: 8, Committed: noon, Verified: noon},
		Exit:   &Exit{Code: 143, Signal: "TERM", At: noon}, Note: "all is well"}
}

func exampleManifest() Manifest {
	return Manifest{Version: 1, Job: 42, Token: token, Restarts: 1, Sequence: 8, Step: 80, Epoch: 8, Request: "17-3",
		Created: noon, GPUs: 5, Files: []File{{Path: "model.pt", Size: 3, SHA256: strings.Repeat("a", 64)}}}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrips(t *testing.T) {
	same := func(what string, got any, err error, want any) {
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", what, got, err, want)
		}
	}
	request, err := ParseRequest(encode(t, exampleRequest()))
	same("request", request, err, exampleRequest())
	target, err := ParseTarget(encode(t, exampleTarget()))
	same("target", target, err, exampleTarget())
	runner, err := ParseRunner(encode(t, exampleRunner()))
	same("runner", runner, err, exampleRunner())
	manifest, err := ParseManifest(encode(t, exampleManifest()))
	same("manifest", manifest, err, exampleManifest())
	p := Progress{Time: 1e9, Restarts: 1, Event: "progress", Done: 3.5, Epoch: 3.5, HasEpoch: true, Step: 35, HasStep: true, Seconds: 2, GPUs: 5, Nodes: 2,
		Metric: map[string]float64{"val/loss": -0.5}}
	progress, err := ParseProgress(encode(t, p))
	same("progress", progress, err, p)
}

// TestUnknownFieldsPass: a newer daemon may say more to an older runner.
func TestUnknownFieldsPass(t *testing.T) {
	data := strings.Replace(string(encode(t, exampleRequest())), "{", `{"colour":"blue",`, 1)
	if _, err := ParseRequest([]byte(data)); err != nil {
		t.Error(err)
	}
}

// TestBroken holds every broken file of testdata/broken against its message.
// The first part of a file's name says which parser it is for.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d broken files, %v", len(files), err)
	}
	var got strings.Builder
	for _, p := range files {
		err := parserOf(p)([]byte(slurp(t, p)))
		var fe *FormatError
		if !errors.As(err, &fe) {
			t.Errorf("%s: %v, want a *FormatError", p, err)
			continue
		}
		if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooNew) {
			t.Errorf("%s: %v: of no kind", p, err)
		}
		got.WriteString(filepath.Base(p) + "\n\t" + err.Error() + "\n")
	}
	golden(t, "testdata/broken.golden", got.String())
}

func parserOf(p string) func([]byte) error {
	kind, _, _ := strings.Cut(filepath.Base(p), "-")
	switch kind {
	case "request":
		return func(b []byte) error { _, err := ParseRequest(b); return err }
	case "target":
		return func(b []byte) error { _, err := ParseTarget(b); return err }
	case "runner":
		return func(b []byte) error { _, err := ParseRunner(b); return err }
	case "progress":
		return func(b []byte) error { _, err := ParseProgress(b); return err }
	case "manifest":
		return func(b []byte) error { _, err := ParseManifest(b); return err }
	}
	panic("no parser for " + p)
}

func golden(t *testing.T, p, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(p, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := slurp(t, p); got != want {
		t.Errorf("%s differs (go test -update rewrites it; read the difference first):\n%s", p, got)
	}
}

func TestTextsAreSafeToShow(t *testing.T) {
	r := exampleRunner()
	r.Note = "red \x1b[31m alert\nsecond line" + strings.Repeat("ü", 2000)
	r.Host = "a\tb"
	r.Skipped = []string{"x\x00y"}
	r.Answer.Error = "\x07"
	r.Exit.Signal = "\x1b]0;"
	got, err := ParseRunner(encode(t, r))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{got.Note, got.Host, got.Skipped[0], got.Answer.Error, got.Exit.Signal} {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(s) > maxText {
			t.Errorf("unsafe: %q", s)
		}
	}
}

func FuzzRequest(f *testing.F)  { fuzz(f, "request", exampleRequest(), ParseRequest) }
func FuzzTarget(f *testing.F)   { fuzz(f, "target", exampleTarget(), ParseTarget) }
func FuzzRunner(f *testing.F)   { fuzz(f, "runner", exampleRunner(), ParseRunner) }
func FuzzManifest(f *testing.F) { fuzz(f, "manifest", exampleManifest(), ParseManifest) }
func FuzzProgress(f *testing.F) {
	fuzz(f, "progress", Progress{Time: 1e9, Event: "hello"}, ParseProgress)
}

// fuzz: whatever the bytes, a typed error or a value that reads back as itself.
func fuzz[T any](f *testing.F, kind string, example T, parse func([]byte) (T, error)) {
	f.Add(encode(f, example))
	broken, _ := filepath.Glob("testdata/broken/" + kind + "-*.json")
	for _, p := range broken {
		if data, err := os.ReadFile(p); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parse(data)
		if err != nil {
			var fe *FormatError
			if !errors.As(err, &fe) || strings.ContainsAny(fe.Error(), "\n\x1b") {
				t.Fatalf("untyped or unsafe error %q", err)
			}
			return
		}
		again, err := parse(encode(t, v))
		if err != nil {
			t.Fatalf("%+v does not read back: %v", v, err)
		}
		if a, b := encode(t, v), encode(t, again); string(a) != string(b) {
			t.Fatalf("reads back as another:\n%s\n%s", a, b)
		}
	})
}
