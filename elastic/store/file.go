package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// beside are the suffixes of the database and of SQLite's files beside it. The database MUST be
// the first: see quarantine.
var beside = []string{"", "-wal", "-shm", "-journal"}

// prepareFolder makes the state folder, or checks that no other account can put files into the
// existing one, and makes it unreadable for others.
//
// A folder in which the group or others may write is ErrForeign: another account could replace the
// database. It is refused BEFORE anything is written into it. A folder that others may only read is
// closed to them instead. The path may be a symbolic link to a folder.
func prepareFolder(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		if err := makeFolder(dir); err != nil {
			return err
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return explain("open", dir, err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &Error{Op: "open", Path: dir, Err: ErrForeign, Text: fmt.Sprintf("others may write in the folder (mode %v)", info.Mode().Perm()),
			Hint: fmt.Sprintf("chmod 700 %s", dir)}
	}
	if info.Mode().Perm()&0o077 != 0 { // it may contain copies of the database
		return explain("close to others", dir, os.Chmod(dir, 0o700))
	}
	return nil
}

// makeFolder makes a folder and the ones above it that are missing, durably. Each new name is
// synced in the folder above it: otherwise a power loss could take the folder away, together with
// writes that the store has acknowledged.
func makeFolder(dir string) error {
	above := filepath.Dir(dir)
	if _, err := os.Lstat(above); errors.Is(err, os.ErrNotExist) && above != dir {
		if err := makeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return explain("open", dir, err)
	}
	return syncFolder(above)
}

// prepareFile creates the database file with mode 0600 BEFORE SQLite can create it with another, or
// checks and tightens the existing one. A symbolic link is ErrForeign, as everything that is not a
// regular file.
func prepareFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return explain("create", path, err)
		}
		return explain("create", path, f.Close())
	case err != nil:
		return explain("open", path, err)
	case !info.Mode().IsRegular():
		return &Error{Op: "open", Path: path, Err: ErrForeign, Text: "not a regular file but " + info.Mode().Type().String(),
			Hint: "move it away"}
	case info.Mode().Perm()&0o077 != 0:
		return explain("open", path, os.Chmod(path, 0o600))
	}
	return nil
}

// quarantine sets a damaged database aside, with the files beside it, under a name that says
// when and what was wrong, and returns that name. The database goes first: if it is missing,
// whatever a crash leaves behind is set aside next time.
//
//	sluice.db.corrupt-20260304T050607Z-rows      the first of that second
//	sluice.db.corrupt-20260304T050607Z-rows-2    the next one; an existing file is never overwritten
//
// The caller MUST hold the store's lock, and MUST have closed the database.
func quarantine(path, sort string, now time.Time) (string, error) {
	stem := path + ".corrupt-" + now.UTC().Format("20060102T150405Z") + "-" + sort
	aside := stem
	for n := 2; ; n++ {
		if taken, err := anyOf(aside, beside); err != nil {
			return "", explain("set aside", path, err)
		} else if !taken {
			break
		}
		aside = fmt.Sprintf("%s-%d", stem, n)
	}
	for _, suffix := range beside {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", explain("set aside", path, err)
		}
	}
	return aside, syncFolder(filepath.Dir(path))
}

// anyOf reports whether one of the files exists. Each is path with one of the suffixes. A link that
// leads nowhere counts as existing.
func anyOf(path string, suffixes []string) (bool, error) {
	for _, suffix := range suffixes {
		if _, err := os.Lstat(path + suffix); err == nil {
			return true, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}

// syncFolder makes renames durable. The same holds for files that were created in the folder.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return explain("sync", dir, err)
	}
	defer f.Close()
	return explain("sync", dir, f.Sync())
}
