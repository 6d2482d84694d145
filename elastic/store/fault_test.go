package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// filled makes a store with enough in it to damage, and closes it.
func filled(t *testing.T) (path string) {
	return filledIn(t, t.TempDir())
}

func filledIn(t *testing.T, base string) (path string) {
	t.Helper()
	s := must(t, filepath.Join(base, "state", "sluice.db"))
	var jobs []journal.JobRecord
	for n := range 200 {
		jobs = append(jobs, contract.Job(strings.Repeat(string(rune('a'+n%26)), 30)+string(rune('0'+n/26)), elastic.JobID(n+1)))
	}
	if err := s.SaveJobs(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Intend(t.Context(), []elastic.Intent{contract.Intent(1)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	return s.Path()
}

func TestDamagedFileIsSetAside(t *testing.T) {
	for _, c := range []struct {
		name, sort string
		damage     func(raw []byte) []byte
	}{
		{"garbage header", "header", func(raw []byte) []byte { copy(raw, "this is not a database, is it?"); return raw }},
		{"all garbage", "header", func([]byte) []byte { return bytes.Repeat([]byte("garbage "), 4096) }},
		{"truncated", "pages", func(raw []byte) []byte { return raw[:len(raw)/2+7] }},
		{"one page left", "pages", func(raw []byte) []byte { return raw[:4096] }},
		{"header only", "header", func(raw []byte) []byte { return raw[:50] }},
		{"zeros in the middle", "pages", func(raw []byte) []byte { clear(raw[4096:]); return raw }},
		{"a letter in a row", "rows", func(raw []byte) []byte { return bytes.ReplaceAll(raw, []byte("rests"), []byte("rosts")) }},
		{"a letter in the schema", "schema", func(raw []byte) []byte {
			return bytes.ReplaceAll(raw, []byte("outcome IS NULL"), []byte("outcome IS NULl"))
		}},
		{"an older schema's number", "header", func(raw []byte) []byte { raw[63] = 1; return raw }},
		{"another program's number", "header", func(raw []byte) []byte { raw[68] ^= 1; return raw }},
		{"nothing left", "empty", func([]byte) []byte { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filled(t)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := c.damage(raw)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s, notices := reopen(t, path)
			aside := path + ".corrupt-20260304T120000Z-" + c.sort
			if len(notices) != 1 || !strings.Contains(notices[0], "kept as "+aside+" ") || !strings.Contains(notices[0], "'sqlite3 "+aside) {
				t.Errorf("notices %q", notices)
			}
			kept, err := os.ReadFile(aside)
			if err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged file was not kept as it was: %v", err)
			}
			if jobs, err := s.Jobs(t.Context(), time.Time{}); err != nil || len(jobs) != 0 {
				t.Errorf("%d jobs, %v", len(jobs), err)
			}
			if err := s.SaveJobs(t.Context(), []journal.JobRecord{contract.Job("a", 1)}); err != nil {
				t.Errorf("the fresh store: %v", err)
			}
		})
	}
}

func TestDamageTwiceInOneSecond(t *testing.T) {
	path := filled(t)
	for range 2 {
		if err := os.WriteFile(path, []byte("not a database at all, just a text"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := reopen(t, path)
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range []string{"", "-2"} {
		if _, err := os.Stat(path + ".corrupt-20260304T120000Z-header" + suffix); err != nil {
			t.Error(err)
		}
	}
}

// If a file that existed is missing, an empty store is started, with a notice.
func TestMissingFileGivesANotice(t *testing.T) {
	path := filled(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s, notices := reopen(t, path)
	if len(notices) != 1 || !strings.Contains(notices[0], "is missing, though it was opened 1 times") {
		t.Errorf("notices %q", notices)
	}
	if jobs, err := s.Jobs(t.Context(), time.Time{}); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

// A newer sluice's file has its schema twice, in its header and in its tally; either is enough
// to refuse it.
func TestNewerFileIsRefusedAndKept(t *testing.T) {
	path := filled(t)
	steps, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	conn := raw(t, path, "PRAGMA user_version = 99")
	if err := writeTally(t.Context(), conn, &tally{of: whole, n: 1, last: 99}); err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(t.Context(), path, noon)
	refused(t, err, ErrNewer, "schema 99", "install the newer sluice")
	if err := writeTally(t.Context(), conn, &tally{of: whole, n: 1, last: int64(len(steps))}); err != nil {
		t.Fatal(err)
	}
	raw(t, path, fmt.Sprintf("PRAGMA user_version = %d", len(steps)))
	if open, err := must(t, path).Open(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("after the refusal: %v, %v", open, err)
	}
}

// TestOlderFileIsBroughtUpToDate: what a file of the first schema holds is still there after
// the migration to the newest.
func TestOlderFileIsBroughtUpToDate(t *testing.T) {
	steps, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state", "sluice.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	raw(t, path, steps[0]+`INSERT INTO samples (model, gpus, nodes, seconds, units, at) VALUES ('m', 2, 1, 0.5, 1, 0)`)
	s := must(t, path)
	if got, err := s.Samples(t.Context(), "m", 9); err != nil || len(got) != 1 || got[0].GPUs != 2 {
		t.Errorf("%v, %v", got, err)
	}
	var version int
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != len(steps) {
		t.Errorf("schema %d of %d, %v", version, len(steps), err)
	}
	if got, err := s.Health(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestForeignFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.db")
	raw(t, path, "CREATE TABLE diary (entry TEXT)")
	_, _, err := Open(t.Context(), path, noon)
	refused(t, err, ErrForeign, "another program", "move it away")
}

func TestForeignFolderIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777, 0o770, 0o707, 0o720, 0o702, 0o777 | fs.ModeSticky} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := Open(t.Context(), filepath.Join(dir, "sluice.db"), noon)
		refused(t, err, ErrForeign, "others may write", "chmod 700 "+dir)
	}
	link := filepath.Join(t.TempDir(), "sluice.db")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	_, _, err := Open(t.Context(), link, noon)
	refused(t, err, ErrForeign, "not a regular file", "move it away")
	_, _, err = Open(t.Context(), "/proc/none/sluice.db", noon)
	if err == nil {
		t.Error("a folder that cannot be made was opened")
	}
}

func TestModes(t *testing.T) {
	path := filled(t)
	if err := errors.Join(os.Chmod(path, 0o666), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
		t.Fatal(err)
	}
	must(t, path)
	for file, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + ".lock": 0o600} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", file, info.Mode().Perm(), err, want)
		}
	}
}

// A person with the sqlite3 shell delays the daemon and cannot block it.
func TestLockedByAnotherProgram(t *testing.T) {
	path := filled(t)
	s, _, err := open(t.Context(), path, noon, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	other := raw(t, path, "BEGIN IMMEDIATE")
	err = s.SaveJobs(t.Context(), []journal.JobRecord{contract.Job("new", 999)})
	refused(t, err, ErrBusy, "save jobs", "close the program")
	if _, err := s.Open(t.Context()); err != nil {
		t.Errorf("reading beside another writer: %v", err)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveJobs(t.Context(), []journal.JobRecord{contract.Job("new", 999)}); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}

// The disk is full: the call fails as a whole, and the next one works once there is room.
func TestDiskFull(t *testing.T) {
	path := filled(t)
	s := must(t, path)
	var pages int
	if err := s.db.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(to string) {
		t.Helper()
		if _, err := s.db.ExecContext(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	limit("PRAGMA max_page_count = 1") // the present size is the smallest limit
	big := contract.Job("big", 5000)
	big.Name = strings.Repeat("x", 1<<20)
	err := s.SaveJobs(t.Context(), []journal.JobRecord{contract.Job("small", 4999), big})
	refused(t, err, ErrFull, "save jobs", "free space")
	if jobs, err := s.Jobs(t.Context(), time.Time{}); err != nil || len(jobs) != 200 {
		t.Errorf("after the failure: %d jobs, %v", len(jobs), err)
	}
	limit("PRAGMA max_page_count = 1000000")
	if err := s.SaveJobs(t.Context(), []journal.JobRecord{big}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A damaged page found while running is reported, so that the daemon can restart.
func TestDamageWhileRunning(t *testing.T) {
	path := filled(t)
	s := must(t, path)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(make([]byte, info.Size()-4096), 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA shrink_memory"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Jobs(t.Context(), time.Time{})
	refused(t, err, ErrCorrupt, "read jobs", "restart sluiced")
}

func TestPrune(t *testing.T) {
	ctx := t.Context()
	s := must(t, t.TempDir()+"/state/sluice.db")
	old, young, alive := contract.Job("old", 1), contract.Job("young", 2), contract.Job("alive", 3)
	old.Ended, young.Ended = noon.Add(-time.Hour), noon.Add(time.Hour)
	at := func(hours int) speed.Sample {
		return speed.Sample{Seconds: 1, At: noon.Add(time.Duration(hours) * time.Hour)}
	}
	ins, err := s.Intend(ctx, []elastic.Intent{contract.Intent(1), contract.Intent(3)})
	err = errors.Join(err, s.SaveJobs(ctx, []journal.JobRecord{old, young, alive}),
		s.SaveSegments(ctx, []journal.Segment{{Token: "old"}, {Token: "alive"}}),
		s.AddSamples(ctx, "job:old/epoch", []speed.Sample{at(-3), at(-1)}), s.AddSamples(ctx, "in use", []speed.Sample{at(-3), at(1)}),
		s.Close(ctx, ins[0], elastic.Lost, nil, noon.Add(-time.Hour)), s.Prune(ctx, noon))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Jobs(ctx, time.Time{})
	if err != nil || len(jobs) != 2 {
		t.Errorf("%v %v", jobs, err)
	}
	gone, err1 := s.Segments(ctx, "old")
	kept, err2 := s.Segments(ctx, "alive")
	if err := errors.Join(err1, err2); err != nil || len(gone) != 0 || len(kept) != 1 {
		t.Errorf("%v %v %v", gone, kept, err)
	}
	dropped, err1 := s.Samples(ctx, "job:old/epoch", 9)
	recent, err2 := s.Samples(ctx, "in use", 9)
	if err := errors.Join(err1, err2); err != nil || len(dropped) != 0 || len(recent) != 2 {
		t.Errorf("speeds %v %v, %v", dropped, recent, err)
	}
	err = errors.Join(s.AddSamples(ctx, "job:young/step", []speed.Sample{at(1)}), s.AddSamples(ctx, "job:alive/pace", []speed.Sample{at(1)}),
		s.ForgetOwn(ctx, noon.Add(2*time.Hour)))
	ended, err1 := s.Samples(ctx, "job:young/step", 9)
	lives, err2 := s.Samples(ctx, "job:alive/pace", 9)
	if err := errors.Join(err, err1, err2); err != nil || len(ended) != 0 || len(lives) != 1 {
		t.Errorf("speeds of jobs alone: %v %v, %v", ended, lives, err)
	}
	if err := s.Close(ctx, ins[0], elastic.Lost, nil, noon); !errors.Is(err, journal.ErrNoIntent) {
		t.Errorf("a pruned move: %v", err)
	}
	if open, err := s.Open(ctx); err != nil || len(open) != 1 {
		t.Errorf("%v %v", open, err)
	}
}

// raw accesses the file without the store, on one connection.
func raw(t *testing.T, path, statement string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatal(err)
	}
	return conn
}

// refused checks the kind, the text and the hint of an error.
func refused(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want %v", err, kind)
	}
	var e *Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("%v has no hint", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q lacks %q", err, w)
		}
	}
}
