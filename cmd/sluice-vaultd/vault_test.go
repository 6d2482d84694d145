package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/etc"
)

func TestNeverRoot(t *testing.T) {
	if err := allowed(etc.Data{Account: "0"}, 0); err == nil || !strings.Contains(err.Error(), "root") {
		t.Error(err)
	}
	if err := allowed(etc.Data{Account: "4711"}, 4711); err != nil {
		t.Error(err)
	}
	if err := allowed(etc.Data{Account: "4711"}, 4712); err == nil || !strings.Contains(err.Error(), "uid 4712") {
		t.Error(err)
	}
	if err := allowed(etc.Data{}, 4711); err == nil || !strings.Contains(err.Error(), "[data] account") {
		t.Error(err)
	}
}

// The vault's folder is the service account's alone, and one vaultd's.
func TestOpenVault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	wants := func(words string) {
		t.Helper()
		v, err := openVault(dir, time.Now)
		if err == nil {
			v.close()
		}
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %s", err, words)
		}
	}
	wants("no such file")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o750)
	wants("mode 0750")
	os.Chmod(dir, 0o700)
	v, err := openVault(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	wants("another sluice-vaultd")
	v.close()
	record := filepath.Join(dir, recordName)
	os.Remove(record)
	os.Symlink("/etc/passwd", record)
	wants("too many levels of symbolic links")
}

// A torn last line is cut off, which the record says; a changed line stops vaultd, and shows in the audit.
func TestDamagedRecord(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	l.add("lungs", "5KB/job,10KB/week")
	record := filepath.Join(l.dir, "vault", recordName)
	f, err := os.OpenFile(record, os.O_WRONLY|os.O_APPEND, 0)
	l.must(err)
	f.WriteString(`{"n":3,"time"`)
	f.Close()
	l.open()
	entries := l.entries()
	if last := entries[len(entries)-1]; len(entries) != 3 || last.Event != vault.Repaired || last.Size != 13 {
		t.Errorf("%+v", entries)
	}
	raw, err := os.ReadFile(record)
	l.must(err)
	l.must(os.WriteFile(record, bytes.Replace(raw, []byte("10KB/week"), []byte("99KB/week"), 1), 0o600))
	a, lines := l.get(hanna, wire.Request{Do: wire.Audit, Name: "mammo"})
	if a.Whole || a.Broken != 2 || strings.Count(lines, "\n") != 1 {
		t.Errorf("%+v %q", a, lines)
	}
	l.s.vault.close()
	if v, err := openVault(filepath.Dir(record), time.Now); err == nil || !strings.Contains(err.Error(), "line 2 of the record") {
		v.close()
		t.Error(err)
	}
	l.must(os.Truncate(record, 10))
	if a, _ := l.get(hanna, wire.Request{Do: wire.Audit, Name: "mammo"}); a.Whole || a.Broken != 1 {
		t.Errorf("cut short: %+v", a)
	}
}

// An entry that the next vaultd could not read is not made, and the record goes on without it.
func TestOnlyWhatCanBeRead(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.s.vault.mu.Lock()
	err := l.s.vault.write(vault.Entry{Event: vault.Told, Job: id, File: "a.pt", Size: vault.MaxBytes + 1, State: wire.FileOver})
	l.s.vault.mu.Unlock()
	if err == nil || l.s.vault.state.Job(id).Files["a.pt"] != nil {
		t.Errorf("it is taken: %v", err)
	}
	l.add("lungs", "5KB/job,10KB/week")
	l.open()
}

// A sparse file may have more bytes than the record takes numbers. It is told of, and the next vaultd reads the record.
func TestSparseBeyondTheRecord(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/shm") // ext4 has no files of that size
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.put(id, "out/a.pt", "x")
	if err := os.Truncate(filepath.Join(l.s.vault.jobFolder(id), "out/a.pt"), 2*vault.MaxBytes); err != nil {
		t.Skip(err)
	}
	l.end(id)
	a, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id})
	if states(a.Files)["a.pt"] != wire.FileOver || raw != "" {
		t.Errorf("%+v", a)
	}
	l.open()
}

// A record whose last lines were cut off, or that was written anew from one of them on, is a chain that holds; the audit
// compares it with what was written.
func TestRecordCutAtALine(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	l.add("lungs", "5KB/job,10KB/week")
	record := filepath.Join(l.dir, "vault", recordName)
	raw, err := os.ReadFile(record)
	l.must(err)
	audit := wire.Request{Do: wire.Audit, Name: "mammo"}
	if a, _ := l.get(hanna, audit); !a.Whole || a.Broken != 0 {
		t.Errorf("%+v", a)
	}
	first, second, _ := bytes.Cut(raw, []byte("\n"))
	first = slices.Concat(first, []byte("\n"))
	for name, c := range map[string]struct {
		text   []byte
		broken int
	}{"cut": {first, 2}, "empty": {nil, 1}, "anew": {slices.Concat(first, bytes.Replace(second, []byte("10KB"), []byte("99KB"), 1)), 2}} {
		l.must(os.WriteFile(record, c.text, 0o600))
		if a, _ := l.get(hanna, audit); a.Whole || a.Broken != c.broken {
			t.Errorf("%s: %+v", name, a)
		}
	}
	l.must(os.WriteFile(record, raw, 0o600))
	if a, _ := l.get(hanna, audit); !a.Whole || a.Broken != 0 {
		t.Errorf("put back: %+v", a)
	}
}

// Folders of jobs that are not in the record are removed at the start; others are not.
func TestTidy(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	orphan := l.s.vault.jobFolder(strings.Repeat("0", 32))
	l.must(os.MkdirAll(orphan, 0o700))
	l.open()
	if _, err := os.Stat(orphan); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Stat(l.s.vault.jobFolder(id)); err != nil {
		t.Error(err)
	}
}

// A record that was lost, or is an older one, stops the start; no folder of a job that ran is removed.
func TestRecordLost(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	record := filepath.Join(l.dir, "vault", recordName)
	before, err := os.ReadFile(record)
	l.must(err)
	model := filepath.Join(l.s.vault.jobFolder(l.submit(ada)), "out/model.pt")
	l.must(os.WriteFile(model, []byte("model"), 0o600))
	l.must(os.Mkdir(filepath.Join(l.s.vault.jobFolder(""), "lost+found"), 0o700)) // it has a file system of its own
	l.open()
	l.s.vault.close()
	for name, lost := range map[string]string{"none": "", "torn": `{"n":1,"ti`} {
		l.must(os.WriteFile(record, []byte(lost), 0o600))
		for range 2 {
			if v, err := openVault(filepath.Dir(record), time.Now); err == nil || !strings.Contains(err.Error(), "was lost") || !strings.Contains(err.Error(), "folders of 1 jobs") {
				v.close()
				t.Errorf("%s: %v", name, err)
			}
		}
		if now, err := os.ReadFile(record); err != nil || string(now) != lost {
			t.Errorf("%s: the record is %q now, %v", name, now, err)
		}
	}
	l.must(os.WriteFile(record, before, 0o600))
	v, err := openVault(filepath.Dir(record), time.Now)
	l.must(err)
	defer v.close()
	orphan := v.jobFolder(strings.Repeat("0", 32))
	l.must(os.MkdirAll(orphan, 0o700))
	old := &service{vault: v, log: l.s.log}
	if err := old.tidy(); err == nil || !strings.Contains(err.Error(), "record is older") {
		t.Error(err)
	}
	l.must(os.Remove(model))
	l.must(os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(model)), logName), nil, 0o600))
	if err := old.tidy(); err == nil {
		t.Error("with a log alone it is started")
	}
	for _, name := range []string{filepath.Dir(model), orphan} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestPace(t *testing.T) {
	p, now := newPace(3, time.Minute), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	count := func(at time.Time) (n int) {
		left := p.left(1, at)
		for p.take(1, at) {
			n++
		}
		if left != n || p.left(1, at) != 0 {
			t.Errorf("%d are left, and %d taken", left, n)
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 3}, {59 * time.Second, 0}, {time.Minute, 1}, {time.Hour, 3}, {-240 * time.Hour, 3}} {
		if got := count(now.Add(c.after)); got != c.want {
			t.Errorf("after %v: %d, want %d", c.after, got, c.want)
		}
	}
	if !p.take(2, now) {
		t.Error("another user is held up")
	}
}
