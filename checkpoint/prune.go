package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
)

// Prune removes checkpoints older than newest so that keep complete ones remain, newest
// included, and returns the names it removed. newest MUST be a verified checkpoint of
// this series that still exists: so no checkpoint is removed before a newer one was
// verified. Newer ones are not touched: they may be being written. Of an older checkpoint
// only the files that its manifest lists are removed; one without a readable manifest was
// never finished and is removed completely.
func (s *Series) Prune(newest Checkpoint, keep int) (removed []string, err error) {
	if !newest.verified || keep < 1 {
		return nil, fmt.Errorf("prune: want a verified checkpoint and at least 1 to keep, got %q and %d", newest.Name, keep)
	}
	if err := s.complete(newest.Name); err != nil {
		return nil, fmt.Errorf("prune: %s is no longer what was verified: %w", newest.Name, err)
	}
	names, err := s.Names()
	if err != nil {
		return nil, err
	}
	kept := 1
	for _, name := range names {
		if sequenceOf(name) >= sequenceOf(newest.Name) {
			continue
		}
		if kept < keep {
			lacks := s.complete(name)
			if lacks == nil {
				kept++
				continue
			}
			if transient(lacks) { // it may be complete
				err = errors.Join(err, fmt.Errorf("prune %s: %w", name, lacks))
				continue
			}
		}
		if failed := s.discard(name); failed != nil {
			err = errors.Join(err, fmt.Errorf("prune %s: %w", name, failed))
			continue
		}
		removed = append(removed, name)
	}
	return removed, err
}

// complete returns what is missing of a checkpoint, judged by file sizes.
func (s *Series) complete(name string) error {
	dir, err := s.dir.Sub(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	m, err := s.manifest(dir, name)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := dir.within(f.Path, f.sized); err != nil {
			return err
		}
	}
	return nil
}

// discard removes one checkpoint. The manifest is removed first and durably: if the rest
// is interrupted, the remainder is unfinished, not damaged.
func (s *Series) discard(name string) error {
	dir, err := s.dir.Sub(name)
	if err != nil {
		return err
	}
	m, err := s.manifest(dir, name)
	if err == nil {
		err = dir.removeListed(m.Files)
	} else if errors.Is(err, ErrUnfinished) || errors.Is(err, ErrInvalid) {
		err = dir.removeContent()
	}
	dir.Close()
	if err != nil {
		return err
	}
	// A directory that contains other files of the user stays.
	if err := s.dir.Remove(name); err != nil && !notEmpty(err) {
		return err
	}
	return nil
}

// removeListed removes a checkpoint's manifest and then, once that is durable, its files.
func (d *Dir) removeListed(files []File) error {
	if err := d.Remove(ManifestFile); err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	return d.removeFiles(files)
}

// removeFiles removes the listed files, then their directories if they are empty, deepest
// first.
func (d *Dir) removeFiles(files []File) error {
	parents := map[string]bool{}
	for _, f := range files {
		if err := d.removeAt(f.Path); err != nil {
			return err
		}
		for p := f.Path; strings.Contains(p, "/"); {
			p = p[:strings.LastIndex(p, "/")]
			parents[p] = true
		}
	}
	deepestFirst := slices.SortedFunc(maps.Keys(parents), func(a, b string) int {
		return strings.Count(b, "/") - strings.Count(a, "/")
	})
	for _, p := range deepestFirst {
		if err := d.removeAt(p); err != nil && !notEmpty(err) {
			return err
		}
	}
	return nil
}

// removeAt removes one file or empty directory below d without following links.
func (d *Dir) removeAt(p string) error {
	dir := d
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		sub, err := dir.Sub(part)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRegular) {
			return nil // missing, or no longer what the manifest listed
		}
		if err != nil {
			return err
		}
		defer sub.Close()
		dir = sub
	}
	return dir.Remove(parts[len(parts)-1])
}

// removeContent removes everything in an unfinished checkpoint.
func (d *Dir) removeContent() error {
	names, err := d.Names(maxFiles)
	for _, name := range names {
		if failed := d.RemoveAll(name); !silly(name) || !errors.Is(failed, syscall.EBUSY) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// notEmpty reports whether a directory stayed because it is not empty; Go reports that as
// "exists".
func notEmpty(err error) bool { return errors.Is(err, fs.ErrExist) }
