package offcycle

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// TestTranscriptsAreReadInParts: of a searcher's answers at most a part is in memory at a time, and one that has no
// end of a line, as a file of zeros, is read once.
func TestTranscriptsAreReadInParts(t *testing.T) {
	jobs, token := t.TempDir(), strings.Repeat("a", 32)
	name := filepath.Join(jobs, token, sweep.SearcherFolder, sweep.Transcript(1))
	for _, err := range []error{os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644), os.Truncate(name, 60<<20)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	base, err := checkpoint.OpenDir(jobs)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	f := newFiles(SweepPaths{Jobs: jobs}, token, uint32(os.Geteuid()))
	f.asked.read, f.asked.points = 1, map[int]string{}
	look := func() (mib uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := f.transcript(base); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) >> 20
	}
	if mib := look(); mib > 16 || f.asked.offset != 60<<20 {
		t.Errorf("60 MiB of zeros: %d MiB of memory, read up to %d", mib, f.asked.offset)
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("\n{\"point\":{\"trial\":3,\"point\":\"x=1\"}}\n{\"none\":"); err != nil {
		t.Fatal(err)
	}
	whole := f.asked.offset
	if mib := look(); mib > 0 || f.asked.points[3] != "x=1" || f.asked.none || f.asked.offset <= whole {
		t.Errorf("what was added: %d MiB of memory, %v, read up to %d", mib, f.asked.points, f.asked.offset)
	}
}
