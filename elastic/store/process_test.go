package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// TestMain lets the test program act as another sluiced.
func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_FILE"); path != "" {
		if os.Getenv("STORE_TEST_PASS") != "" {
			os.Exit(passerBy(path))
		}
		if os.Getenv("STORE_TEST_BUSY") != "" {
			os.Exit(busyDaemon(path))
		}
		if pragma := os.Getenv("STORE_TEST_HOLD"); pragma != "" {
			os.Exit(otherProgram(path, pragma))
		}
		os.Exit(otherDaemon(path))
	}
	os.Exit(m.Run())
}

// otherDaemon opens the store, writes an intent, prints the result and waits to be killed.
func otherDaemon(path string) int {
	ctx := context.Background()
	s, _, err := Open(ctx, path, noon)
	if err == nil {
		_, err = s.Intend(ctx, []elastic.Intent{contract.Intent(1)})
	}
	fmt.Println("opened:", err)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// otherProgram has the file open and locked, as a person with the sqlite3 shell has.
func otherProgram(path, lock string) int {
	db, err := sql.Open("sqlite3", "file:"+path)
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec(lock)
	}
	fmt.Println("opened:", err)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// passerBy opens the file to read it and closes it again, for each line that it is sent.
func passerBy(path string) int {
	fmt.Println("opened:", nil)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		db, err := sql.Open("sqlite3", "file:"+path)
		if err == nil {
			_, err = db.Exec("SELECT count(*) FROM jobs")
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "reading beside the daemon:", err)
		}
	}
	return 0
}

// process is another program, and its standard input.
type process struct {
	*exec.Cmd
	in io.Writer
}

// another starts this test program as a daemon on the store, as the user, and returns it with
// what it printed.
func another(t *testing.T, program, path string, credential *syscall.Credential) (process, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "STORE_TEST_FILE="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the other daemon said nothing: %v", err)
	}
	return process{cmd, in}, strings.TrimSpace(line)
}

// A second daemon's error has the first one's pid. A killed daemon blocks nothing, and its intents are
// there.
func TestOneDaemonAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "sluice.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, said := another(t, self, path, nil)
	if said != "opened: <nil>" {
		t.Fatal(said)
	}
	_, _, err = Open(t.Context(), path, noon)
	refused(t, err, ErrInUse, fmt.Sprintf("pid %d", first.Process.Pid), "one sluiced a store")

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var died *exec.ExitError
	if err := first.Wait(); !errors.As(err, &died) {
		t.Fatalf("killed, but: %v", err)
	}
	s := must(t, path)
	if open, err := s.Open(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("after kill -9: %v, %v", open, err)
	}
	_, said = another(t, self, path, nil)
	if !strings.Contains(said, fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("the other daemon was not refused by pid: %s", said)
	}
}

// A store that is readable and not writable is refused with a message, not set aside.
func TestReadOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, read-only store not tested: needs root to become another user")
	}
	base := reachable(t) // the other user may not enter go's own folders
	path := filledIn(t, base)
	dir := filepath.Dir(path)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(base, "daemon")
	copyFile(t, self, program)
	other := &syscall.Credential{Uid: 65534, Gid: 65534}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, said := another(t, program, path, other)
	if !strings.Contains(said, ErrReadOnly.Error()) || !strings.Contains(said, "must own") {
		t.Errorf("folder read-only: %s", said)
	}
	// The folder belongs to it, the file does not.
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	_, said = another(t, program, path, other)
	if !strings.Contains(said, ErrReadOnly.Error()) {
		t.Errorf("file read-only: %s", said)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file was moved: %v", err)
	}
}

// reachable makes a folder that other accounts may enter.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "store-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o755); err != nil { // independent of the umask
		t.Fatal(err)
	}
}
