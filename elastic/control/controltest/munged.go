package controltest

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Munged starts a real munged with its own key and returns its socket, open to every user. It
// stops with the test. The test is skipped if munge is not installed.
func Munged(t testing.TB) string {
	t.Helper()
	program := "/usr/sbin/munged"
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: needs munge")
	}
	dir, err := os.MkdirTemp("", "munged")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	var said bytes.Buffer
	cmd := exec.Command(program, "--foreground", "--socket="+socket, "--key-file="+filepath.Join(dir, "key"),
		"--pid-file="+filepath.Join(dir, "pid"), "--seed-file="+filepath.Join(dir, "seed"), "--log-file="+filepath.Join(dir, "log"), "--num-threads=2")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-gone })
	for range 1000 {
		if _, err := os.Stat(socket); err == nil {
			return socket
		}
		select {
		case <-gone:
			t.Fatalf("munged ended: %s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatal("munged made no socket in 10 s")
	return ""
}
