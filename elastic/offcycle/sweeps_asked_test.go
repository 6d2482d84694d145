package offcycle

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
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

// TestReportsAreBounded: a sweep whose trials reported more than is kept is given up, and says why.
func TestReportsAreBounded(t *testing.T) {
	jobs, lane := t.TempDir(), strings.Repeat("b", 32)
	if err := os.MkdirAll(filepath.Join(jobs, lane), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jobs, lane, sweep.EventFile), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base, err := checkpoint.OpenDir(jobs)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	dir, err := base.Sub(lane)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	f := newFiles(SweepPaths{Jobs: jobs}, strings.Repeat("a", 32), uint32(os.Geteuid()))
	f.book = book.New()
	for n := 1; n <= 101; n++ {
		f.book.Apply(book.Entry{Tell: &book.Telling{Lane: lane, Ask: "a", Trial: n, Start: 1, Point: "x=1"}})
	}
	if done, err := f.lines(dir, lane, 1); err != nil || !done {
		t.Fatal(done, err)
	}
	f.offsets = map[string]int64{}
	for n := 1; n <= 101; n++ {
		for e := range 20_000 {
			f.book.Take(lane, sweep.Event{Kind: sweep.Reported, Trial: n, Start: 1, Epoch: float64(e), Value: 1})
		}
	}
	if done, err := f.lines(dir, lane, 1); done || !errors.As(err, new(tooMuch)) || !strings.Contains(err.Error(), "reported more epochs than are kept") {
		t.Errorf("%v, %v", done, err)
	}
	if n := len(f.book.Trial(101).Curve); n != 0 {
		t.Errorf("%d marks beyond the bound", n)
	}
}
