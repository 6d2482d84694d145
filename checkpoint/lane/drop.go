package lane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// lockFile is locked in a trial's folder by the lane that runs the trial, and by one that removes its
// checkpoints: what is removed for one lane may be what another is about to resume from.
const lockFile = "lock"

// startLock is how long a trial waits for a lane that removes its checkpoints. After that it starts
// all the same: a lane on a node that was given up may hold the lock for good.
const startLock = 10 * time.Second

// errLocked: another lane runs the trial, or removes its checkpoints.
var errLocked = errors.New("another lane has its folder")

// lock locks a trial's folder, which exists. Closing the file gives the lock back.
func lock(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, err
	}
	return f, nil
}

// locked locks the trial's folder while it runs; nil where that is not possible.
func (t *trial) locked() *os.File {
	for until := t.Now().Add(startLock); ; {
		f, err := lock(t.folder)
		if err == nil {
			return f
		}
		if !errors.Is(err, errLocked) || !t.Now().Before(until) || t.wait(nil) {
			fmt.Fprintf(t.Stderr, "sluice: trial %d: its folder is not locked: %v\n", t.tell.Trial, err)
			return nil
		}
	}
}

// drop removes the checkpoints of trials that no longer fit into what the sweep may keep. What sluiced
// asks for is read again once the trial's folder is locked: it may have told another lane to go on
// with the trial. Where files cannot be locked nothing is removed.
func (l *lane) drop(ask sweep.Ask, trials []int) {
	for _, n := range trials {
		folder := l.trialFolder(n)
		base := filepath.Join(folder, checkpoint.Checkpoints)
		if entries, err := os.ReadDir(base); err != nil || len(entries) == 0 {
			continue
		}
		held, err := lock(folder)
		if errors.Is(err, errLocked) {
			continue // it runs again, or another lane does this
		}
		if err == nil {
			if tell, ok := l.told(ask); ok && slices.Contains(tell.Drop, n) {
				if err = os.RemoveAll(base); err == nil {
					err = l.event(sweep.Event{Kind: sweep.Dropped, Trial: n, Start: 1})
				}
			}
			held.Close()
		}
		if err != nil && !l.complained {
			l.complained = true // it is tried again and again
			fmt.Fprintf(l.Stderr, "sluice: checkpoints of trial %d are to be removed (--keep-gb): %v\n", n, err)
		}
	}
}
