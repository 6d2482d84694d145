package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "write testdata anew; read the diff before you commit it")

// TestForms holds table, JSON, CSV and events against testdata.
func TestForms(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []Run) error{
		"table.txt": WriteTable, "lines.jsonl": WriteJSON, "lines.csv": WriteCSV, "events.jsonl": writeEvents, "jobs.csv": WriteJobs,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b, runs()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s (go test -update writes it anew):\n%s", path, got)
	}
}

func writeEvents(w io.Writer, _ []Run) error {
	e := NewEventWriter(w)
	event := e.Of("fcfs", "w1", 3)
	event(replay.Event{At: 1500 * time.Millisecond, Name: "<a>", Kind: "submit"})
	event(replay.Event{At: time.Minute, Name: "<a>", Kind: "start", To: nodes.Placement{{Node: "n1", GPUs: 2}}, Why: reason.SlurmSaid{Text: "first & only"}})
	event(replay.Event{At: 36 * time.Hour, Job: 0, Name: "<a>", Kind: "end", From: nodes.Placement{{Node: "n1", GPUs: 2}}})
	return e.Flush()
}

// TestHostileNames: what a terminal would act upon does not reach it.
func TestHostileNames(t *testing.T) {
	r := runs()[:1]
	r[0].Workload, r[0].Note = "w\x1b[2J", "note\r\nforged"
	var b bytes.Buffer
	if err := WriteTable(&b, r); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(b.Bytes(), "\x1b\r") {
		t.Errorf("%q", b.String())
	}
}

func TestWriteErrors(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []Run) error{
		"table": WriteTable, "JSON": WriteJSON, "CSV": WriteCSV, "page": WriteHTML, "events": writeEvents,
	} {
		if write(full{}, runs()) == nil {
			t.Errorf("%s: a full disk goes unnoticed", name)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
