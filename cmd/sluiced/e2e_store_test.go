package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// sluiced's store is damaged while it is stopped, and again while it runs: it sets the file aside under
// a name that says why, logs that, and finds its jobs in Slurm, with their size and their user's
// directive.
func TestDatabaseDamaged(t *testing.T) {
	t.Parallel()
	s := play(t)
	j := s.submit("damaged", "", 60, []string{"--max-gpus=4"})
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	j.runsOn(2)
	s.must(s.Stop())
	spoil(s, "damaged")
	s.must(s.Start(s.ctx))
	if v := j.runsOn(2); v.Pinned != 2 {
		t.Errorf("the user's pin is lost: %+v", v)
	}
	kept, err := filepath.Glob(s.State + "/sluice.db.corrupt-*-rows")
	s.must(err)
	if log := s.Tail(200); len(kept) != 1 || !strings.Contains(log, "is kept as "+kept[0]) || !strings.Contains(log, "jobs are found again in Slurm") {
		t.Errorf("kept: %v; the log does not say so:\n%s", kept, log)
	}

	s.must(os.Rename(s.State+"/sluice.db", s.State+"/away"))
	s.must(site.Until(s.ctx, time.Minute, "sluiced to stop because its store was taken away", func() (bool, error) { return !s.Alive(), nil }))
	if log := s.Tail(20); !strings.Contains(log, "removed or replaced while it was open") {
		t.Errorf("it does not say why it stopped:\n%s", log)
	}
	s.must(s.Start(s.ctx))
	j.runsOn(2)
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
}

// spoil changes one letter in a row of the stopped daemon's database.
func spoil(s *scene, word string) {
	s.t.Helper()
	path := s.State + "/sluice.db"
	raw, err := os.ReadFile(path)
	s.must(err)
	if !bytes.Contains(raw, []byte(word)) {
		s.t.Fatalf("%q is not in the database", word)
	}
	wrong := append([]byte("X"), word[1:]...)
	s.must(os.WriteFile(path, bytes.ReplaceAll(raw, []byte(word), wrong), 0o600))
}
