package story_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/story"
	"github.com/sluice-hpc/sluice/elastic/store"
)

// disk is a shelf on which the real store lies.
type disk struct {
	dir   string
	store *store.Store
	copy  map[string][]byte
}

// files are the database and what SQLite keeps beside it.
var files = []string{"", "-wal", "-shm"}

// onDisk makes shelves in folders of the test's own.
func onDisk(t *testing.T) story.Shelves {
	base := t.TempDir()
	return func(story.Story) (story.Shelf, error) {
		dir, err := os.MkdirTemp(base, "")
		return &disk{dir: dir}, err
	}
}

func (d *disk) path() string { return filepath.Join(d.dir, "state", "sluice.db") }

func (d *disk) Open(now time.Time) (story.Journal, error) {
	s, _, err := store.Open(context.Background(), d.path(), now)
	if err != nil {
		return nil, err
	}
	d.store = s
	return s, nil
}

// Close leaves what a killed process leaves: the file and its log as they are.
func (d *disk) Close(killed bool) error {
	if d.store == nil {
		return nil
	}
	left := d.read()
	err := d.store.Shutdown()
	d.store = nil
	if killed {
		err = errors.Join(err, d.write(left))
	}
	return err
}

func (d *disk) read() map[string][]byte {
	out := map[string][]byte{}
	for _, f := range files {
		if raw, err := os.ReadFile(d.path() + f); err == nil {
			out[f] = raw
		}
	}
	return out
}

func (d *disk) write(all map[string][]byte) (err error) {
	for _, f := range files {
		if raw, ok := all[f]; ok {
			err = errors.Join(err, os.WriteFile(d.path()+f, raw, 0o600))
		}
	}
	return err
}

func (d *disk) Copy() error {
	d.copy = d.read()
	return nil
}

func (d *disk) PutBack() error {
	if d.copy == nil {
		return nil
	}
	return errors.Join(d.Lose(), d.write(d.copy))
}

func (d *disk) Lose() (err error) {
	for _, f := range files {
		if gone := os.Remove(d.path() + f); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (d *disk) Second(now time.Time) (story.Journal, error) {
	s, _, err := store.Open(context.Background(), d.path(), now)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (d *disk) Remove() error {
	return errors.Join(d.Close(false), os.RemoveAll(d.dir))
}
