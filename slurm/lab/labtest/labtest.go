// Package labtest starts a lab for a test and ends it with the test. It also removes the
// labs of earlier test processes that were killed.
package labtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm/lab"
)

// RequireEnv is the variable that, set to 1, turns a skip for missing programs
// into a failure, so that a complete test run cannot pass by skipping.
const RequireEnv = "SLUICE_REQUIRE_LAB"

// RootsEnv is the variable that lists other Slurm releases to test: file-system trees
// (such as debootstrap makes), separated by colons.
const RootsEnv = "SLUICE_LAB_ROOTS"

// Roots returns the values of lab.Config.Root for every available Slurm release: "", this
// machine's own, and those of RootsEnv.
func Roots() []string {
	return append([]string{""}, filepath.SplitList(os.Getenv(RootsEnv))...)
}

const prefix = "sluice-labtest-"

// Up starts a lab in its own directory (cfg.Dir is set here) and registers its end. If
// programs are missing the test is skipped with the reason; see RequireEnv. If the test
// fails, the end of each daemon's output is logged.
func Up(t testing.TB, cfg lab.Config) *lab.Lab {
	t.Helper()
	if err := lab.Missing(cfg.Root); err != nil {
		if os.Getenv(RequireEnv) == "1" {
			t.Fatalf("%s=1 and %v", RequireEnv, err)
		}
		t.Skipf("NOT TESTED on a real Slurm: %v", err)
	}
	cfg.Dir = Dir(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	l, err := lab.Up(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, l) })
	return l
}

// Dir makes an empty directory for a lab. It is short, because it contains sockets, and
// every account may enter it; t.TempDir guarantees neither. Labs left by earlier, killed
// test processes are ended first. The directory is removed with the test.
func Dir(t testing.TB) string {
	t.Helper()
	reapAbandoned(t)
	dir, err := os.MkdirTemp("/tmp", prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// end ends the lab and fails the test if any process of it is left.
func end(t testing.TB, l *lab.Lab) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if t.Failed() {
		t.Logf("last output of the lab's daemons:\n%s", strings.Join(l.Logs(20), "\n"))
	}
	if err := l.Down(ctx); err != nil {
		t.Errorf("ending the lab: %v", err)
	}
	if n, err := l.Procs(); err != nil || n != 0 {
		t.Errorf("%d processes of the lab are left (%v)", n, err)
	}
}

// reapAbandoned ends the labs of test processes that no longer run: the directory's name
// contains the PID.
func reapAbandoned(t testing.TB) {
	dirs, _ := filepath.Glob(filepath.Join("/tmp", prefix+"*"))
	for _, dir := range dirs {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || exists(pid) {
			continue
		}
		l, err := lab.Open(dir)
		if errors.Is(err, lab.ErrNoLab) {
			os.Remove(dir) // only if empty
			continue
		}
		if err != nil {
			continue // another account's
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := l.Down(ctx); err == nil {
			t.Logf("ended the lab an earlier test process left in %s", dir)
			os.Remove(dir)
		}
		cancel()
	}
}

func exists(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil
}
