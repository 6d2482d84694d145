package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// reads are ways in which a person reads the store with another program.
var reads = []string{
	"SELECT count(*) FROM jobs",
	"BEGIN; SELECT count(*) FROM jobs", // and stays in the transaction
}

// A reader beside the daemon, one that was there when the daemon was killed, and one that stays
// over restarts: nothing is refused or lost, and nothing is taken for damaged.
func TestReadersBesideTheDaemon(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range reads {
		for _, killed := range []bool{false, true} {
			m, want := full(t, killed)
			root := disktest.Scratch(t)
			if err := m.write(root, flip{}); err != nil {
				t.Fatal(err)
			}
			path := newStory(root).path
			t.Setenv("STORE_TEST_HOLD", read)
			reader, said := another(t, self, path, nil)
			if said != "opened: <nil>" {
				t.Fatal(said)
			}
			for round := range 3 {
				if now, notices, err := opened(root); err != nil || len(notices) > 0 || now != want {
					t.Fatalf("%s, killed %v, round %d: %v, notices %q\n%s\nwant\n%s", read, killed, round, err, notices, now, want)
				}
				if round == 1 {
					if err := reader.Process.Kill(); err != nil {
						t.Fatal(err)
					}
					_ = reader.Wait()
				}
			}
			s := must(t, path)
			if _, err := s.Intend(never, []elastic.Intent{contract.Intent(900)}); err != nil {
				t.Errorf("writing: %v", err)
			}
		}
	}
}

// The daemon was killed. A reader opens the file and closes it again, which folds the log into
// it and removes the log, just while the daemon starts.
func TestReaderLeavesAsTheDaemonStarts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, want := full(t, true)
	root := disktest.Scratch(t)
	path := newStory(root).path
	t.Setenv("STORE_TEST_PASS", "1")
	other, _ := another(t, self, path, nil)
	gone := 0
	for round := range max(30, campaign(t, 0)/10) {
		if err := m.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		for there := true; there; {
			if round%3 == 2 { // a whole start, which takes longer
				now, notices, err := opened(root)
				if err != nil || len(notices) > 0 || now != want {
					t.Fatalf("round %d: %v, notices %q\n%s\nwant\n%s", round, err, notices, now, want)
				}
			} else if err := checkLog(path); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			there, err = anyOf(path, []string{"-wal"})
			if err != nil {
				t.Fatal(err)
			}
		}
		gone++
	}
	counted(t, "store-readers-that-left", gone)
	if now, notices, err := opened(root); err != nil || len(notices) > 0 || now != want {
		t.Errorf("%v, notices %q\n%s\nwant\n%s", err, notices, now, want)
	}
}

// A statement that runs with every transaction must find its rows through an index.
func TestWritesReadNoWholeTable(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	for _, statement := range []string{
		insertIntent, updateIntent, selectIntent, selectIntentSum, replaceJob, selectJobSum, replaceSegment, selectSegmentSum, selectSegments,
		insertSample, forgetSamples, selectSamples, replaceComplaint, selectComplaintSum, deleteComplaint,
		pruneSegments, pruneJobs, pruneIntents, selectTally, replaceTally,
	} {
		rows, err := s.db.QueryContext(never, "EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?")-strings.Count(statement, "?1"))...)
		if err != nil {
			t.Fatal(statement, err)
		}
		for rows.Next() {
			var id, parent, unused int
			var plan string
			if err := rows.Scan(&id, &parent, &unused, &plan); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(plan, "SCAN ") && !strings.HasPrefix(plan, "SCAN CONSTANT") {
				t.Errorf("%s\nreads all of a table: %s", statement, plan)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
