package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// Daemons start on one store at the same moment, repeatedly: one gets it and the others are
// told so, in any order, also while it is being closed.
func TestDaemonsRace(t *testing.T) {
	const daemons = 5
	path := newStory(disktest.Scratch(t)).path
	rounds := campaign(t, 0) / 10
	if rounds == 0 {
		rounds = 100
	}
	for round := range rounds {
		var won atomic.Int64
		var wg sync.WaitGroup
		start, tried := make(chan struct{}), sync.WaitGroup{}
		tried.Add(daemons)
		for range daemons {
			wg.Go(func() {
				<-start
				s, notices, err := Open(never, path, noon)
				tried.Done()
				switch {
				case err == nil:
					won.Add(1)
					tried.Wait()
					if _, err := s.Intend(never, []elastic.Intent{contract.Intent(elastic.JobID(round + 1))}); err != nil || len(notices) > 0 {
						t.Errorf("round %d: %v, notices %q", round, err, notices)
					}
					if err := s.Shutdown(); err != nil {
						t.Error(err)
					}
				case !errors.Is(err, ErrInUse):
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		close(start)
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d daemons have the store", round, won.Load())
		}
	}
	if open, err := must(t, path).Open(never); err != nil || len(open) != rounds {
		t.Errorf("%d moves of %d rounds, %v", len(open), rounds, err)
	}
	counted(t, "store-daemon-races", rounds*daemons)
}

// The same with processes.
func TestProcessesRace(t *testing.T) {
	path := newStory(disktest.Scratch(t)).path
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := make([]string, 4)
	var wg sync.WaitGroup
	for i := range said {
		wg.Go(func() { _, said[i] = another(t, self, path, nil) })
	}
	wg.Wait()
	won, refused := 0, 0
	for _, s := range said {
		if s == "opened: <nil>" {
			won++
		} else if strings.Contains(s, ErrInUse.Error()) {
			refused++
		}
	}
	if won != 1 || refused != len(said)-1 {
		t.Errorf("%d have it, %d were refused: %q", won, refused, said)
	}
}

// A person takes the lock file for stale and removes it while the daemon runs: a second daemon
// is refused all the same.
func TestLockFileRemoved(t *testing.T) {
	path := newStory(disktest.Scratch(t)).path
	must(t, path)
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	_, _, err := Open(t.Context(), path, noon)
	refused(t, err, ErrInUse, "another sluiced", "one sluiced a store")
}

// The contents of a lock file have no effect: the kernel's lock decides.
func TestStaleLockFile(t *testing.T) {
	for _, says := range []string{"", "1\n", fmt.Sprintf("%d\nopened 1\n", os.Getppid()), "-5 opened -9", "\x00\xff garbage", strings.Repeat("9", 1<<16)} {
		path := filled(t)
		if err := os.WriteFile(path+".lock", []byte(says), 0o600); err != nil {
			t.Fatal(err)
		}
		if open, err := must(t, path).Open(t.Context()); err != nil || len(open) != 1 {
			t.Errorf("lock file %.20q: %v, %v", says, open, err)
		}
	}
}

// Another program holds SQLite's own lock: the daemon waits for busyFor, reports it, and does
// not take the file for damaged.
func TestLockedByAnotherProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"BEGIN EXCLUSIVE", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"} {
		path := filled(t)
		t.Setenv("STORE_TEST_HOLD", lock)
		other, said := another(t, self, path, nil)
		if said != "opened: <nil>" {
			t.Fatal(said)
		}
		_, _, err := open(t.Context(), path, noon, 30*time.Millisecond)
		refused(t, err, ErrBusy, "close the program")
		if err := other.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = other.Wait()
		if open, err := must(t, path).Open(t.Context()); err != nil || len(open) != 1 {
			t.Errorf("%s: once it is gone: %v, %v", lock, open, err)
		}
	}
}

// A copy from yesterday is restored: a notice says so, and the store works.
func TestOlderCopyGivesANotice(t *testing.T) {
	m, want := full(t, false)
	root := disktest.Scratch(t)
	path := newStory(root).path
	if err := m.write(root, flip{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := must(t, path)
		if _, err := s.Intend(never, []elastic.Intent{contract.Intent(elastic.JobID(s.lock.opened + 900))}); err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, m[""], 0o600); err != nil {
		t.Fatal(err)
	}
	s, notices := reopen(t, path)
	if len(notices) != 1 || !strings.Contains(notices[0], "older copy: it was opened 1 times, where the last one was opened 3 times") {
		t.Errorf("notices %q", notices)
	}
	if said, err := dump(s); err != nil || said != want {
		t.Errorf("%v\n%s\nwant\n%s", err, said, want)
	}
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	must(t, path) // reported once
	if left, _ := filepath.Glob(path + ".corrupt-*"); len(left) > 0 {
		t.Errorf("set aside: %v", left)
	}
}

// An implausible count in the lock file is ignored.
func TestImpossibleCount(t *testing.T) {
	path := filled(t)
	for _, says := range []string{"1\nopened 9223372036854775807\n", "1\nopened 99999999999999999999\n", "1\nopened -3\n"} {
		if err := os.WriteFile(path+".lock", []byte(says), 0o600); err != nil {
			t.Fatal(err)
		}
		s := must(t, path) // without a notice about an older copy
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
}
