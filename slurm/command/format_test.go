package command

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata; read the diff")

// fixtureDelimiter is the delimiter the recorded answers were asked with.
var fixtureDelimiter = delimiterOf("fixture")

// golden compares with a file under testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
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
		t.Errorf("%s differs; run go test -update and read the diff. Got:\n%s", path, got)
	}
}

// TestFormats pins what record.sh asks with to what the client asks with.
func TestFormats(t *testing.T) {
	golden(t, "squeue.format", fixtureDelimiter.format(jobFields[:])+"\n")
	golden(t, "limits.format", fixtureDelimiter.format(jobLimitFields[:])+"\n")
	golden(t, "excluded.format", excludedFormat(fixtureDelimiter)+"\n")
	golden(t, "assoc.format", strings.Join(associationFields[:], ",")+"\n")
	golden(t, "qos.format", strings.Join(qosFields[:], ",")+"\n")
	golden(t, "past.format", strings.Join(pastFields[:], ",")+"\n")
	golden(t, "sinfo.format", fixtureDelimiter.format(nodeFields[:])+"\n")
}
