package bundle

import (
	"archive/tar"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Arrived is a file of an archive that was received, and is not in place yet.
type Arrived struct {
	Name   string // slash-separated, below the folder
	Size   int64  // bytes
	Digest string // SHA-256 in hexadecimal

	staged string // below the folder
}

// Folder is where results are written. Everything is received into a hidden folder in it first.
type Folder struct {
	root *os.Root
	name string // as typed, for messages
	hold string // the hidden folder
	made bool   // it was not there
}

// Open makes the folder if it is missing, and opens it.
func Open(name string) (*Folder, error) {
	_, err := os.Lstat(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	f := &Folder{root: root, name: name, made: missing, hold: ".sluice-" + rand.Text()}
	if err := root.Mkdir(f.hold, 0o700); err != nil {
		root.Close()
		return nil, f.wrong(".", err)
	}
	return f, nil
}

// Close removes what was received and not put in its place, and the folder if it was made and is empty.
func (f *Folder) Close() error {
	err := errors.Join(f.root.RemoveAll(f.hold), f.root.Close())
	if f.made {
		_ = os.Remove(f.name) // it has files
	}
	return err
}

// Receive reads a tar of plain files. A name that leads out of the folder, a link, a file of another kind, a sparse one, and one that is
// there twice are errors.
func (f *Folder) Receive(from io.Reader) ([]Arrived, error) {
	counted := &counter{from: from}
	archive := tar.NewReader(counted)
	var all []Arrived
	seen, written := map[string]bool{}, int64(0)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("results: what sluice-vaultd sent is not a tar: %w", err)
		}
		if err := acceptable(h); err != nil {
			return all, err
		}
		if seen[h.Name] || len(seen) == MaxEntries {
			return all, fmt.Errorf("results: %q is there twice, or there are more than %d files; nothing was written", h.Name, MaxEntries)
		}
		seen[h.Name] = true
		a := Arrived{Name: h.Name, Size: h.Size, staged: path.Join(f.hold, fmt.Sprint(len(all)))}
		if a.Digest, err = f.stage(a.staged, archive); err != nil {
			return all, err
		}
		if written += h.Size; written > counted.n {
			return all, fmt.Errorf("results: %q is longer than what arrived; nothing was written", h.Name)
		}
		all = append(all, a)
	}
}

// acceptable refuses entries that are not a plain file below the folder.
func acceptable(h *tar.Header) error {
	name := h.Name
	sparse := h.Typeflag == tar.TypeGNUSparse
	for key := range h.PAXRecords {
		sparse = sparse || strings.HasPrefix(key, "GNU.sparse")
	}
	switch {
	case h.Typeflag != tar.TypeReg || sparse || h.Size < 0:
		return fmt.Errorf("results: %q is not a plain file; nothing was written", name)
	case !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r >= 0x80 && r < 0xa0 || r == 0xfffd }):
		return fmt.Errorf("results: the name %q leads out of the folder, or has characters that no name should have; nothing was written", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > 255 {
			return fmt.Errorf("results: the name %.40q... is too long; nothing was written", part)
		}
	}
	return nil
}

// stage writes a file into the hidden folder and returns its digest.
func (f *Folder) stage(name string, from io.Reader) (string, error) {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", f.wrong(name, err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, sum), from)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("results: they broke off, and nothing was written: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// ErrExists: there is a file of that name.
var ErrExists = errors.New("a file of that name is there")

// Place puts a file where its name says. No link on the way is followed. A file that is there is replaced if over is set, else
// it is ErrExists.
func (f *Folder) Place(a Arrived, over bool) error {
	if err := f.parents(path.Dir(a.Name)); err != nil {
		return err
	}
	if over {
		if info, err := f.root.Lstat(a.Name); err == nil && info.IsDir() {
			return fmt.Errorf("%q: a folder of that name is there", a.Name)
		}
		return f.wrong(a.Name, f.root.Rename(a.staged, a.Name)) // a link is replaced, not followed
	}
	err := f.root.Link(a.staged, a.Name)
	switch {
	case err == nil:
		return f.wrong(a.Name, f.root.Remove(a.staged))
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%q: %w", a.Name, ErrExists)
	case !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOSYS):
		return f.wrong(a.Name, err)
	}
	if _, err := f.root.Lstat(a.Name); !errors.Is(err, fs.ErrNotExist) { // a file system without hard links
		return fmt.Errorf("%q: %w", a.Name, ErrExists)
	}
	return f.wrong(a.Name, f.root.Rename(a.staged, a.Name))
}

// parents makes the folders above a file. One that is a link is an error.
func (f *Folder) parents(dir string) error {
	if dir == "." {
		return nil
	}
	if err := f.parents(path.Dir(dir)); err != nil {
		return err
	}
	if err := f.root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return f.wrong(dir, err)
	}
	if info, err := f.root.Lstat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%q in %s is no folder, or a link, which is not followed; choose another folder with -o", dir, f.name)
	}
	return nil
}

func (f *Folder) wrong(name string, err error) error {
	if err == nil {
		return nil
	}
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("%q in %s: %w", name, f.name, err)
}

// counter counts what was read.
type counter struct {
	from io.Reader
	n    int64
}

// Read reads and counts.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}
