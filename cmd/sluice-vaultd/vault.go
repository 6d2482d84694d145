package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// recordName is the record in the vault's folder; jobsName the folder of the jobs.
const (
	recordName = "record.jsonl"
	jobsName   = "jobs"
)

// errBroken: the record could not be written. What is in memory may not be on the disk, so nothing is decided any more.
var errBroken = errors.New("the record cannot be written; sluice-vaultd must be started again")

// vaultFolder is the vault: the record and what follows from it.
type vaultFolder struct {
	dir string
	now func() time.Time

	// mu is held for a decision and the entry that follows from it, and for nothing that takes longer.
	mu     sync.Mutex
	state  *vault.State
	record recordFile
	lines  int64
	last   string
	before time.Time // of the last entry when it was opened
	size   int64     // bytes of the record that are durable
	broken error
	// started is when jobs were recorded as started, by ID, those since the vault was opened: by this process's clock.
	started map[string]time.Time
	failed  chan struct{} // closed when it breaks
}

// recordFile is the file of the record.
type recordFile interface {
	io.WriteCloser
	Sync() error
}

// openVault opens the vault in a folder that only this account can enter, and reads the record. Only one process
// has it open at a time.
func openVault(dir string, now func() time.Time) (*vaultFolder, error) {
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("[data] root: %w", err)
	}
	if err := os.Mkdir(filepath.Join(dir, jobsName), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	path := filepath.Join(dir, recordName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the record: %w", err)
	}
	v := &vaultFolder{dir: dir, now: now, state: vault.NewState(), record: file, failed: make(chan struct{}), started: map[string]time.Time{}}
	if err := v.read(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// private reports why a folder is not this account's alone.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("%w; make it with mode 0700, owned by the account of [data]", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s does not belong to the account of [data]; 'chown' it", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %04o: other accounts can enter it; 'chmod 0700' it", dir, info.Mode().Perm())
	}
	return nil
}

func (v *vaultFolder) read(file *os.File) error {
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.New("another sluice-vaultd has it open; stop that first")
	}
	found, err := vault.Verify(file, func(e vault.Entry, _ []byte) error { return v.state.Apply(e) })
	if err != nil {
		return err
	}
	v.lines, v.last, v.size, v.before = int64(found.Lines), found.Last, found.Bytes, v.state.Now(time.Time{})
	unknown, err := v.unknown()
	if err != nil {
		return err
	}
	if v.lines == 0 && len(unknown) > 0 {
		return fmt.Errorf("the record is empty or was lost, and %s has folders of %d jobs, whose budgets it had counted; put the record back from a backup, or, to begin anew, move %s away",
			v.jobFolder(""), len(unknown), v.jobFolder(""))
	}
	if found.Torn > 0 {
		if err := file.Truncate(found.Bytes); err != nil {
			return err
		}
		return v.write(vault.Entry{Event: vault.Repaired, Size: found.Torn})
	}
	return syncFolder(v.dir)
}

// write makes an entry: it is in the state and on the disk when write returns without an error. The mutex must be held.
func (v *vaultFolder) write(e vault.Entry) error {
	if v.broken != nil {
		return v.broken
	}
	e.N, e.Prev, e.Time = v.lines+1, v.last, v.state.Now(v.now().UTC().Round(0))
	line, err := e.Line()
	if err == nil {
		e, err = vault.ParseEntry(line) // what cannot be read again would stop the next vaultd
	}
	if err == nil {
		err = v.state.Apply(e)
	}
	if err != nil {
		return err
	}
	_, err = v.record.Write(line)
	if err == nil {
		err = v.record.Sync()
	}
	if err != nil {
		v.broken = fmt.Errorf("%w: %w", errBroken, err)
		close(v.failed)
		return v.broken
	}
	switch e.Event {
	case vault.Started:
		v.started[e.Job] = time.Now()
	case vault.Ended:
		delete(v.started, e.Job)
	}
	v.lines, v.last, v.size = e.N, vault.Sum(line), v.size+int64(len(line))
	return nil
}

func (v *vaultFolder) close() { v.record.Close() }

// jobFolder is the folder of a job.
func (v *vaultFolder) jobFolder(id string) string { return filepath.Join(v.dir, jobsName, id) }

// unknown are the IDs of jobs that have a folder and are not in the record. What else lies there, such as lost+found, is
// nobody's job.
func (v *vaultFolder) unknown() (ids []string, err error) {
	entries, err := os.ReadDir(v.jobFolder(""))
	for _, e := range entries {
		if wire.IsID(e.Name()) && v.state.Job(e.Name()) == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// ran reports whether a job of this folder was ever submitted: it has a log, or something is where its program writes, or
// it had results.
func (v *vaultFolder) ran(id string) (bool, error) {
	dir := v.jobFolder(id)
	if _, err := os.Lstat(filepath.Join(dir, logName)); !errors.Is(err, os.ErrNotExist) {
		return true, err
	}
	for _, name := range []string{innerName, outName, releasedName} {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		if len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
			return true, err
		}
	}
	return false, nil
}

// syncFolder makes names in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // some network file systems cannot flush a directory and need not
	}
	return err
}
