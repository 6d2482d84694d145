package lane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// endless makes a checkpoint of a trial that takes many minutes to read: a file of zeros that has no blocks.
func endless(t *testing.T, l *lane, n int) {
	t.Helper()
	folder := filepath.Join(l.saved(t, n), checkpoint.Checkpoints, "00000001")
	const size = 1 << 39
	m := checkpoint.Manifest{
		Version: checkpoint.Version, Job: l.number, Token: sweep.TrialToken(l.sweep.Token, n), Sequence: 1, Epoch: 4, Created: time.Now().UTC(),
		Files: []checkpoint.File{{Path: "state", Size: size, SHA256: strings.Repeat("0", 64)}},
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "state"), nil, 0o600)
	}
	if err == nil {
		err = os.Truncate(filepath.Join(folder, "state"), size)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, checkpoint.ManifestFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestHearsWhileItCopies: a lane that copies the checkpoint from which a trial goes on answers a request to save, and
// ends at a signal. The trial has not begun then, and nothing of the copy is left.
func TestHearsWhileItCopies(t *testing.T) {
	for name, asked := range map[string]bool{"a request": true, "SIGTERM": false} {
		t.Run(name, func(t *testing.T) {
			tell := sweep.Tell{Trial: 9, Start: 1, Point: "x=1", Origin: sweep.Origin{From: 3, FromEpoch: 4}}
			l, ask := newLane(t, tell)
			l.number, l.job, l.signals, l.Poll, l.script = 7, 8, make(chan os.Signal, 1), 5*time.Millisecond, []byte("#!/bin/sh\n")
			l.folder = filepath.Join(filepath.Dir(l.folder), strings.Repeat("b", 32))
			own := filepath.Join(l.folder, checkpoint.Checkpoints)
			l.vars = map[string]string{"SLUICE_CHECKPOINTS": own}
			l.inner = t.TempDir()
			if err := os.MkdirAll(own, 0o700); err != nil {
				t.Fatal(err)
			}
			endless(t, l, 3)
			answered := filepath.Join(own, "00000001", checkpoint.ManifestFile)
			if asked {
				r := checkpoint.Request{Version: checkpoint.Version, Job: 8, ID: "r-1", Asked: time.Now().UTC(), Deadline: time.Now().UTC().Add(time.Minute), Why: "a resize"}
				if err := writeIn(l.folder, checkpoint.RequestFile, r); err != nil {
					t.Fatal(err)
				}
				go func() { // as sluiced does once it is answered
					for {
						if _, err := os.Stat(answered); err == nil {
							os.Remove(filepath.Join(l.folder, checkpoint.RequestFile))
							return
						}
						time.Sleep(5 * time.Millisecond)
					}
				}()
			} else {
				l.signals <- syscall.SIGTERM
			}
			over := make(chan error, 1)
			go func() { over <- l.trial(ask, tell) }()
			select {
			case err := <-over:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it copies on")
			}
			if e := events(t, l); len(e) != 1 || e[0].Kind != sweep.EndedAs || e[0].How != sweep.Saved {
				t.Errorf("%+v", e)
			}
			if _, err := os.Stat(answered); (err == nil) != asked {
				t.Errorf("answered: %v", err)
			}
			left, err := os.ReadDir(filepath.Join(l.Sweep, sweep.Trials, sweep.TrialToken(l.sweep.Token, 9), checkpoint.Checkpoints))
			if err != nil || len(left) > 0 {
				t.Errorf("left of the copy: %v, %v", left, err)
			}
		})
	}
}
