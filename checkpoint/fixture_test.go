package checkpoint

import (
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before you commit it")

const (
	token = "0123456789abcdef0123456789abcdef"
	other = "ffffffffffffffffffffffffffffffff"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// bases returns an empty jobs and an outbox directory and the mailbox over them.
func bases(t *testing.T) (jobs, outbox string, m *Mailbox) {
	t.Helper()
	base := t.TempDir()
	jobs, outbox = filepath.Join(base, "jobs"), filepath.Join(base, "outbox")
	mkdir(t, jobs)
	m, err := NewMailbox(jobs, outbox)
	if err != nil {
		t.Fatal(err)
	}
	return jobs, outbox, m
}

func mkdir(t *testing.T, p string) string {
	t.Helper()
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func put(t *testing.T, p, content string) {
	t.Helper()
	mkdir(t, filepath.Dir(p))
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func slurp(t *testing.T, p string) string {
	t.Helper()
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func openDir(t *testing.T, p string) *Dir {
	t.Helper()
	d, err := OpenDir(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// me is the uid that owns what the test writes.
func me() uint32 { return uint32(os.Getuid()) }

var job = Identity{Job: 42, Token: token}

// series returns an empty series and the path of its folder.
func series(t *testing.T) (*Series, string) {
	t.Helper()
	p := t.TempDir()
	return NewSeries(openDir(t, p), job), p
}

// save commits a checkpoint of two files, one in a folder of its own.
func save(t *testing.T, s *Series, base string, sequence int) string {
	t.Helper()
	name := Name(sequence)
	put(t, filepath.Join(base, name, "model.pt"), "weights of "+name)
	put(t, filepath.Join(base, name, "optim", "state.bin"), "moments of "+name)
	err := s.Commit(t.Context(), name, Manifest{Step: int64(sequence) * 10, Epoch: float64(sequence), Created: noon, GPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func mkfifo(p string) error { return syscall.Mkfifo(p, 0o666) }
