package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// ErrChanged: a program's own checkpoint was written to while it was adopted.
var ErrChanged = errors.New("changed while it was read")

// Adoption says how a program's own checkpoint becomes one of the series.
type Adoption struct {
	// Tree is its contents when it was found complete.
	Tree Tree
	// Copy: the program writes into the same files again, so a hard link would not keep
	// their present contents.
	Copy bool
	// Manifest holds what is known of it; identity, sequence, request and files are
	// filled in.
	Manifest Manifest
	// Request returns the id of the pending request, "" if there is none. It is called
	// last, when all is on disk.
	Request func() string
}

// Adopt makes a checkpoint of the series from the file or folder of that name in from,
// and returns the checkpoint's name. The program's own is not changed. Every byte is
// read; the error is ErrChanged if it was written to in the meantime. A failure leaves no
// files behind.
func (s *Series) Adopt(ctx context.Context, from *Dir, name string, a Adoption) (string, error) {
	if len(a.Tree.Entries) == 0 {
		return "", fmt.Errorf("%s: %w: no file in it", name, fs.ErrNotExist)
	}
	own, err := s.next()
	if err != nil {
		return "", err
	}
	dir, err := s.dir.Sub(own)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if err := s.adopt(ctx, dir, own, from, name, a); err != nil {
		return "", errors.Join(err, dir.removeContent(), s.dir.Remove(own))
	}
	return own, s.dir.Sync()
}

func (s *Series) adopt(ctx context.Context, dir *Dir, own string, from *Dir, name string, a Adoption) error {
	t := taker{link: !a.Copy}
	if err := t.takeTree(ctx, from, name, a.Tree, dir); err != nil {
		return err
	}
	m := a.Manifest
	m.Version, m.Job, m.Token, m.Sequence = Version, s.id.Job, s.id.Token, sequenceOf(own)
	var err error
	if m.Files, err = sumTree(ctx, dir); err != nil {
		return err
	}
	after, err := from.Tree(name)
	if err == nil && after.Print() != a.Tree.Print() {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if a.Request != nil {
		m.Request = a.Request()
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if _, err := ParseManifest(data); err != nil {
		return err
	}
	return dir.Write(ManifestFile, data, 0o600)
}

// nextTries bounds the names tried for a new checkpoint.
const nextTries = 100

// next makes the folder of the next checkpoint.
func (s *Series) next() (string, error) {
	names, err := s.Names()
	if err != nil {
		return "", err
	}
	sequence := 1
	if len(names) > 0 {
		sequence = sequenceOf(names[0]) + 1
	}
	for range nextTries {
		name := Name(sequence)
		err = s.dir.root.Mkdir(name, 0o700)
		if err == nil || !errors.Is(err, fs.ErrExist) || sequence >= maxSequence {
			return name, err
		}
		sequence++
	}
	return "", err
}

// Same reports whether the file or folder of that name in dir has the contents of the
// checkpoint. Additional files are ignored. Files that are not hard links of each other
// are compared by their sums.
func (s *Series) Same(ctx context.Context, c Checkpoint, dir *Dir, name string) (bool, error) {
	own, err := s.dir.Sub(c.Name)
	if err != nil {
		return false, err
	}
	defer own.Close()
	info, err := dir.Lstat(name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	for _, file := range c.Manifest.Files {
		at := path.Join(name, file.Path)
		if info.Mode().IsRegular() {
			at = name
		}
		var there fs.FileInfo
		err := own.within(file.Path, func(_ *os.File, info fs.FileInfo) error { there = info; return nil })
		if err != nil {
			return false, err
		}
		err = dir.within(at, func(f *os.File, info fs.FileInfo) error {
			if os.SameFile(there, info) {
				return nil
			}
			return file.summed(ctx)(f, info)
		})
		if err != nil {
			if errors.Is(err, ErrInvalid) {
				err = nil
			}
			return false, err
		}
	}
	return true, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// PutBack copies or links an adopted checkpoint back into the program's own folder, under
// a name that MUST NOT exist there. It appears atomically. copied: as Copy in Adoption;
// plain: it was a single file.
func (s *Series) PutBack(ctx context.Context, c Checkpoint, to *Dir, name string, plain, copied bool) (err error) {
	own, err := s.dir.Sub(c.Name)
	if err != nil {
		return err
	}
	defer own.Close()
	temp := tempName(name)
	defer func() {
		if err != nil {
			err = errors.Join(err, to.RemoveAll(temp))
		}
	}()
	into, rest := to, func(File) string { return temp }
	if !plain {
		if into, err = to.Make(temp, 0o755); err != nil {
			return err
		}
		defer into.Close()
		rest = func(f File) string { return f.Path }
	}
	t := taker{link: !copied}
	for _, file := range c.Manifest.Files {
		err := own.within(file.Path, func(f *os.File, info fs.FileInfo) error { return t.take(ctx, f, info, into, rest(file)) })
		if err != nil {
			return err
		}
	}
	if _, err := to.Lstat(name); err == nil {
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	if err := to.Rename(temp, name); err != nil {
		return err
	}
	return to.Sync()
}
