package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// hostile is text that users and nodes may supply: ends of strings and statements, conditions
// that are always true, patterns, and invalid UTF-8.
var hostile = []string{
	"honest", `x'; DROP TABLE jobs; --`, `x"; DROP TABLE samples; --`, `' OR '1'='1`, `" OR "1"="1`, `') OR 1=1 --`, `x' UNION SELECT * FROM jobs --`,
	"%", "_____", "*", `\'`, "''", "`", "[x]", "?", "?1", ":x", "$x", "x/*", "*/", "x\x00'", "\x1b[31m", "a\nb", "\u202e", "\xff'", "ΑΒΓ",
}

// No text has a meaning to the database, whatever its source and column: each is returned
// unchanged, alone, and no data of others is read, changed or deleted.
func TestTextIsNoStatement(t *testing.T) {
	s := must(t, filepath.Join(t.TempDir(), "state", "sluice.db"))
	var jobs []journal.JobRecord
	var moves []elastic.Intent
	var health elastic.Health
	for n, word := range hostile {
		r := contract.Job(word, elastic.JobID(n+1))
		r.Name, r.Owner.User, r.Partition, r.State = word, word, word, word
		jobs = append(jobs, r)
		in := contract.Intent(elastic.JobID(n + 1))
		in.Cause, in.Request, in.Checkpoint = reason.SlurmSaid{Text: word}, word, word
		moves = append(moves, in)
		health = append(health, elastic.Complaint{Sighting: elastic.Sighting{Node: word, GPU: word, UID: uint32(n), Unfit: word}, First: noon, Last: noon})
	}
	opened, err := s.Intend(t.Context(), moves)
	err = errors.Join(err, s.SaveJobs(t.Context(), jobs), s.SaveHealth(t.Context(), health))
	for n, word := range hostile {
		err = errors.Join(err, s.SaveSegments(t.Context(), []journal.Segment{{Token: word, Restarts: n, Cause: reason.SlurmSaid{Text: word}}}),
			s.AddSamples(t.Context(), word, []speed.Sample{{Shape: speed.Shape{GPUs: n + 1, Nodes: 1}, Seconds: 1, Units: 1, At: noon}}))
	}
	if err != nil {
		t.Fatal(err)
	}
	for n, word := range hostile {
		runs, err := s.Segments(t.Context(), word)
		if err != nil || len(runs) != 1 || runs[0].Restarts != n || runs[0].Cause != reason.Normal(reason.SlurmSaid{Text: word}) {
			t.Errorf("runs of %q: %v, %v", word, runs, err)
		}
		speeds, err := s.Samples(t.Context(), word, 100)
		if err != nil || len(speeds) != 1 || speeds[0].GPUs != n+1 {
			t.Errorf("speeds of %q: %v, %v", word, speeds, err)
		}
		opened[n].Step, opened[n].Checkpoint = elastic.Asked, word+word
		if err := s.Advance(t.Context(), opened[n]); err != nil {
			t.Errorf("a move for %q: %v", word, err)
		}
		if n%2 == 0 {
			if err := s.Close(t.Context(), opened[n], elastic.Abandoned, reason.SlurmSaid{Text: word}, noon); err != nil {
				t.Errorf("the end of a move for %q: %v", word, err)
			}
		}
	}
	got, err := s.Jobs(t.Context(), time.Time{})
	same := slices.EqualFunc(got, jobs, func(a, b journal.JobRecord) bool {
		return a.Token == b.Token && a.Name == b.Name && a.Owner == b.Owner && a.Partition == b.Partition && a.State == b.State && a.ID == b.ID
	})
	if err != nil || !same {
		t.Errorf("%d jobs of %d are returned, or they are changed: %v\n%+v", len(got), len(jobs), err, got)
	}
	open, err := s.Open(t.Context())
	if err != nil || len(open) != len(hostile)/2 {
		t.Errorf("%d moves, %v", len(open), err)
	}
	for _, in := range open {
		if word := hostile[in.Job-1]; in.Cause != reason.Normal(reason.SlurmSaid{Text: word}) || in.Request != word || in.Checkpoint != word+word {
			t.Errorf("%q: %+v", word, in)
		}
	}
	said, err := s.Health(t.Context())
	for _, c := range said {
		if word := hostile[c.UID]; c.Node != word || c.GPU != word || c.Unfit != word {
			t.Errorf("%q: %+v", word, c)
		}
	}
	if err != nil || len(said) != len(hostile) {
		t.Errorf("%d words about GPUs, %v", len(said), err)
	}
}
