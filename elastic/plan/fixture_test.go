package plan_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// on is a place on one node.
func on(node string, gpus int) nodes.Placement { return nodes.Placement{{Node: node, GPUs: gpus}} }

// sentence returns a reason in English.
func sentence(r reason.Reason) string { return say.Reason(r, time.Time{}) }

// golden compares with a file under testdata. Read the diff before -update: the
// file is the specification.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if the change is meant, run go test ./elastic/plan -update and read the diff\ngot:\n%s", path, got)
	}
}
