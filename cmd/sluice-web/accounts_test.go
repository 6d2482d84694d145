package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// directory is a directory of accounts with one, which a test makes slow, or unable to answer.
type directory struct {
	asked atomic.Int64
	hang  chan struct{} // nil = it answers at once
	fails atomic.Bool
}

func (d *directory) find(ctx context.Context, name string) (uint32, error) {
	d.asked.Add(1)
	if d.hang != nil {
		select {
		case <-d.hang:
		case <-ctx.Done():
		}
	}
	switch {
	case d.fails.Load():
		return 0, errDirectory
	case name == "ann":
		return 1001, nil
	}
	return 0, errors.New("no account")
}

func newTestAccounts(d *directory) (a *accounts, clock *atomic.Int64) {
	a, clock = newAccounts(), &atomic.Int64{}
	a.find = d.find
	a.now = func() time.Time { return time.Unix(1_800_000_000+clock.Load(), 0) }
	return a, clock
}

// Accounts are looked up, and remembered: also that there is none.
func TestAccounts(t *testing.T) {
	d := &directory{}
	a, clock := newTestAccounts(d)
	for range 3 {
		if uid, err := a.of("ann"); err != nil || uid != 1001 {
			t.Error(uid, err)
		}
		if _, err := a.of("eve"); err == nil || errors.Is(err, errDirectory) {
			t.Errorf("there is one, or it is not known: %v", err)
		}
	}
	if n := d.asked.Load(); n != 2 {
		t.Errorf("%d look-ups of two names", n)
	}
	clock.Store(int64(unknownFor/time.Second) + 1)
	if _, err := a.of("eve"); err == nil || d.asked.Load() != 3 {
		t.Errorf("%v after %d look-ups: it may be there now", err, d.asked.Load())
	}
	for i := range accountsMost + 10 {
		a.of(fmt.Sprint("u", i))
	}
	if n := len(a.seen); n > accountsMost {
		t.Errorf("%d are remembered", n)
	}
}

// Requests of one user wait for one look-up; while it is made anew, and while the directory does not
// answer, the uid that was known counts, for a day.
func TestAccountsOnce(t *testing.T) {
	d := &directory{hang: make(chan struct{})}
	a, clock := newTestAccounts(d)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if uid, err := a.of("ann"); err != nil || uid != 1001 {
				t.Error(uid, err)
			}
		})
	}
	wait(t, "the look-up", func() bool { return d.asked.Load() > 0 })
	close(d.hang)
	all.Wait()
	if n := d.asked.Load(); n != 1 {
		t.Errorf("%d look-ups", n)
	}
	d.fails.Store(true)
	for i := range 5 {
		clock.Add(int64(accountFor/time.Second) + 1)
		if uid, err := a.of("ann"); err != nil || uid != 1001 {
			t.Errorf("the directory does not answer: %d %v", uid, err)
		}
		wait(t, "the look-up in the background", func() bool { return d.asked.Load() >= int64(2+i) && a.idle() })
	}
	clock.Add(int64(staleFor/time.Second) + 1)
	if _, err := a.of("ann"); !errors.Is(err, errDirectory) {
		t.Errorf("after a day: %v", err)
	}
}

// idle reports whether no name is looked up.
func (a *accounts) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.seen {
		if n.asked {
			return false
		}
	}
	return true
}

// getent is ended in time, also if a child of it keeps the pipe open; a long answer is cut; only its own
// code for it says that there is no account.
func TestGetent(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		script, want string
	}{
		{`echo "ann:x:1001:100::/home/ann:/bin/sh"`, ""},
		{`exit 2`, "is not an account"},
		{`exit 3`, errDirectory.Error()},
		{`echo "root:x:0:0::/:/bin/sh"`, "is not an account"},
		{`echo "ann:x:many:100"`, "no uid"},
		{`head -c 5000000 /dev/zero`, "is not an account"},
		{`sleep 60 & sleep 60`, errDirectory.Error()},
		{`sleep 60 & echo "ann:x:1001:1"`, errDirectory.Error()},
	} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		within := time.Minute
		if strings.Contains(c.script, "sleep 60 & sleep") {
			within = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		uid, err := getent(ctx, path, "ann")
		cancel()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && uid != 1001 {
			t.Errorf("%s: %d %v", c.script, uid, err)
		}
	}
}
