package story_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/store"
	"github.com/sluice-hpc/sluice/elastic/world/story"
)

// disk is a shelf with the real store.
type disk struct {
	dir    string
	store  *store.Store
	copy   map[string][]byte
	marked map[string][]byte // the files before the write with the power loss
	away   map[string][]byte // the files while a newer version's store is in their place
}

// files are the database and SQLite's files beside it.
var files = []string{"", "-wal", "-shm"}

// sector is the size of a write that is atomic on disk.
const sector = 512

// onDisk makes shelves in temporary folders of the test.
func onDisk(t *testing.T) story.Shelves {
	base := t.TempDir()
	return func(story.Story) (story.Shelf, error) {
		dir, err := os.MkdirTemp(base, "")
		return &disk{dir: dir}, err
	}
}

func (d *disk) path() string { return filepath.Join(d.dir, "state", "sluice.db") }

func (d *disk) Open(now time.Time) (story.Journal, []string, error) {
	s, notices, err := store.Open(context.Background(), d.path(), now)
	if err != nil {
		return nil, nil, err
	}
	d.store = s
	return s, notices, nil
}

// Close leaves the file and its log as they are after a kill.
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

func (d *disk) Folder() string { return filepath.Join(d.dir, "jobs") }

func (d *disk) Mark() { d.marked = d.read() }

// Tear applies a power loss to what was written since Mark, in SQLite's order of writes: frames go to
// the log, which is synced, and only then to the database. So either the log is torn and the
// database is as before, or the log is complete and the database is torn. The log's index, which
// is shared memory, may be written back at any time; it refers to frames only once they are synced.
func (d *disk) Tear(way uint64) error {
	was, now := d.marked, d.read()
	if len(was) == 0 {
		return nil // it was not there yet
	}
	rng := rand.New(rand.NewPCG(way, 0x7ea7))
	left := maps.Clone(now)
	if inLog := bytes.Equal(was[""], now[""]) || rng.IntN(2) == 0; inLog {
		left[""], left["-wal"] = was[""], torn(was["-wal"], now["-wal"], rng)
		if !bytes.Equal(left["-wal"], now["-wal"]) || rng.IntN(2) == 0 {
			left["-shm"] = was["-shm"]
		}
	} else {
		left[""] = torn(was[""], now[""], rng)
	}
	return errors.Join(d.Lose(), d.write(left))
}

// torn returns a file in which each written sector is present or not.
func torn(was, now []byte, rng *rand.Rand) []byte {
	size := len(now)
	if len(now) > len(was) { // the length is not certain either
		size = len(was) + rng.IntN(len(now)-len(was)+1)
	}
	out := make([]byte, size)
	for at := 0; at < size; at += sector {
		end := min(at+sector, size)
		copy(out[at:end], was[min(at, len(was)):min(end, len(was))])
		if rng.IntN(2) == 0 {
			copy(out[at:end], now[at:end])
		}
	}
	return out
}

// Hurt damages the files, whether or not the store is open.
func (d *disk) Hurt(what string, way uint64) (bool, error) {
	rng := rand.New(rand.NewPCG(way, 0xf8))
	if what == "store is newer" {
		return d.renew()
	}
	which := []string{"", "-wal"}[rng.IntN(2)]
	raw, err := os.ReadFile(d.path() + which)
	if err != nil || len(raw) == 0 {
		which = ""
		if raw, err = os.ReadFile(d.path()); err != nil || len(raw) == 0 {
			return false, nil
		}
	}
	switch what {
	case "store is half lost":
		return true, os.Remove(d.path() + which)
	case "store is cut off":
		return true, os.Truncate(d.path()+which, int64(rng.IntN(len(raw))))
	}
	f, err := os.OpenFile(d.path()+which, os.O_WRONLY, 0)
	if err != nil {
		return false, err
	}
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(raw))
		if rng.IntN(3) == 0 {
			at = rng.IntN(min(len(raw), 4096)) // damage to the first page has most effects
		}
		if _, err := f.WriteAt([]byte{raw[at] ^ byte(1+rng.IntN(255))}, int64(at)); err != nil {
			return false, errors.Join(err, f.Close())
		}
	}
	return true, f.Close()
}

// renew changes the store as a newer version would.
func (d *disk) renew() (bool, error) {
	d.away = d.read()
	if len(d.away[""]) == 0 {
		return false, nil
	}
	db, err := sql.Open("sqlite3", d.path())
	if err != nil {
		return false, err
	}
	_, err = db.Exec("ALTER TABLE tally RENAME TO tally_of_99; PRAGMA user_version = 99")
	return err == nil, errors.Join(err, db.Close())
}

// Mend puts the store back as it was before renew.
func (d *disk) Mend() error {
	if d.away == nil {
		return nil
	}
	return errors.Join(d.Lose(), d.write(d.away))
}
