package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// saying is everything that a store returns.
type saying struct {
	Open   []openMove
	Jobs   []journal.JobRecord
	Runs   []run
	Speeds []speed.Sample
	Health elastic.Health
}

// openMove and run are intents and segments with their causes in English, as earlier programs
// stored them.
type openMove struct {
	elastic.Intent
	Cause string
}

type run struct {
	journal.Segment
	Cause string `json:"cause"`
}

// earlier unpacks testdata/NAME.tar.gz: the state folder as the program of that schema left it,
// closed or killed, and what that program returned from it. These files are real stores and are
// never regenerated. They also show when another version of SQLite formats its own schema
// differently, for which checkRows would take every existing store for damaged.
func earlier(t *testing.T, name string) (image, saying) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	m, said := image{}, saying{}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return m, said
		}
		raw, err2 := io.ReadAll(files)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if suffix, ok := strings.CutPrefix(h.Name, "sluice.db"); ok {
			m[suffix] = raw
		} else if err := errors.Join(json.Unmarshal(raw, &said), said.users(raw)); err != nil {
			t.Fatal(err)
		}
	}
}

// users reads the users of jobs as programs up to schema 8 had them: one for each job, who is its owner
// and the user in Slurm.
func (s *saying) users(raw []byte) error {
	var was struct {
		Jobs []struct {
			User string
			UID  uint32
		}
	}
	if err := json.Unmarshal(raw, &was); err != nil {
		return err
	}
	for i, j := range was.Jobs {
		s.Jobs[i].Owner, s.Jobs[i].SlurmUID = elastic.Owner{User: j.User, UID: j.UID}, j.UID
	}
	return nil
}

func says(t *testing.T, s *Store) saying {
	t.Helper()
	open, err1 := s.Open(never)
	jobs, err2 := s.Jobs(never, time.Time{})
	health, err3 := s.Health(never)
	all, errs := saying{Jobs: jobs, Health: health}, []error{err1, err2, err3}
	for _, in := range open {
		all.Open = append(all.Open, openMove{in, say.Reason(in.Cause, noon)})
	}
	for n := range 60 {
		runs, err := s.Segments(never, fmt.Sprintf("token%d", n))
		errs = append(errs, err)
		for _, r := range runs {
			all.Runs = append(all.Runs, run{r, say.Reason(r.Cause, noon)})
		}
	}
	for _, model := range []string{"m", "n"} {
		speeds, err := s.Samples(never, model, 1000)
		all.Speeds, errs = append(all.Speeds, speeds...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return all
}

func equal(t *testing.T, got, want saying) {
	t.Helper()
	a, err1 := json.Marshal(got)
	b, err2 := json.Marshal(want)
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%v\n%s\nwant\n%s", err, a, b)
	}
}

// A store that an earlier program left, closed or killed, returns what it returned then,
// without a notice; its rows have sums from now on, and the next move gets an id that no move
// ever had, not even one that was pruned.
func TestStoresOfEarlierPrograms(t *testing.T) {
	for name, next := range map[string]int64{"schema1": 6, "schema2": 6, "schema2-killed": 7, "schema3": 6, "schema3-killed": 7, "schema4": 9, "schema4-killed": 9, "schema5": 9, "schema5-killed": 9, "schema6": 5, "schema6-killed": 5, "schema7": 9, "schema7-killed": 9} {
		t.Run(name, func(t *testing.T) {
			m, want := earlier(t, name)
			if len(want.Open) == 0 || len(want.Jobs) == 0 || len(want.Runs) == 0 || len(want.Speeds) == 0 || len(want.Health) == 0 != (name == "schema1") {
				t.Fatalf("the image does not hold something of everything: %+v", want)
			}
			root := t.TempDir()
			if err := m.write(root, flip{}); err != nil {
				t.Fatal(err)
			}
			path := newStory(root).path
			s := must(t, path)
			equal(t, says(t, s), want)
			in, err := s.Intend(never, []elastic.Intent{contract.Intent(500)})
			if err != nil || in[0].ID != next {
				t.Fatalf("the next move is %v, want number %d; %v", in, next, err)
			}
			late := contract.Job("later", 501)
			late.Submitted = noon.AddDate(1, 0, 0)
			muted := append(elastic.Health{{Sighting: elastic.Sighting{Node: "a", GPU: "0"}, Muted: true}}, want.Health...)
			if err := errors.Join(s.SaveJobs(never, []journal.JobRecord{late}), s.SaveHealth(never, muted),
				s.Close(never, want.Open[0].Intent, elastic.Done, reason.MoveOver, noon), s.Shutdown()); err != nil {
				t.Fatal(err)
			}
			want.Open, want.Jobs, want.Health = append(want.Open[1:], openMove{in[0], say.Reason(in[0].Cause, noon)}), append(want.Jobs, late), muted
			equal(t, says(t, must(t, path)), want)
		})
	}
}

// A row of an earlier schema that does not match its sum does not get a new one: the store is
// set aside as any damaged one, unchanged.
func TestDamageIsNotSealed(t *testing.T) {
	for _, c := range []struct {
		schema int
		spoil  string
	}{
		{3, "UPDATE samples SET seconds = seconds / 2"}, {3, "UPDATE jobs SET deaf = deaf + 1"}, {3, "DELETE FROM segments"}, {3, "DELETE FROM tally WHERE of = 'jobs'"},
		{4, "UPDATE samples SET kind = 'x'"}, {5, "UPDATE jobs SET deaf = deaf + 1"}, {5, "DELETE FROM tally WHERE of = 'answers'"}, {6, "UPDATE jobs SET ending = '{}'"},
		{7, "DELETE FROM answers"}, {7, "DELETE FROM tally WHERE of = 'jobs'"},
	} {
		m, _ := earlier(t, fmt.Sprintf("schema%d", c.schema))
		root := t.TempDir()
		if err := m.write(root, flip{}); err != nil {
			t.Fatal(err)
		}
		path := newStory(root).path
		raw(t, path, c.spoil).Close()
		_, notices := reopen(t, path)
		left, _ := filepath.Glob(path + ".corrupt-*-rows")
		if len(left) != 1 || len(notices) != 1 || !strings.Contains(notices[0], left[0]) {
			t.Errorf("%s: set aside %v, notices %q", c.spoil, left, notices)
			continue
		}
		conn, version := raw(t, left[0], "SELECT 1"), 0
		if err := conn.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version); err != nil || version != c.schema {
			t.Errorf("%s: schema %d was set aside as schema %d, %v", c.spoil, c.schema, version, err)
		}
		conn.Close()
	}
}
