// Package bundle unpacks a tar of a user's code into a folder: files and folders only, none outside of
// it, within bounds.
package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Limits bound a bundle.
type Limits struct {
	Bytes int64 // of all files together
	Files int   // files and folders
}

// Bounds of names; deeper or longer ones are refused.
const (
	maxDepth = 32
	maxName  = 1024
)

// Error is why a bundle is refused.
type Error struct {
	Name string // the entry; "" = the whole
	Why  string
}

// Error returns the entry and what is wrong with it.
func (e *Error) Error() string {
	if e.Name == "" {
		return "the bundle of code: " + e.Why
	}
	return fmt.Sprintf("%q in the bundle of code: %s", e.Name, e.Why)
}

// Unpack reads a tar and makes its files and folders in the folder, which must be empty. Files get mode 0400
// or 0500, folders 0700, whatever the tar says. What is neither a file nor a folder, a name that is not
// below the folder or occurs twice, and what is beyond the limits is an *Error; what was
// made until then stays. Other errors are those of reading and of the disk.
func Unpack(into *os.Root, from io.Reader, l Limits) error {
	u := unpacking{into: into, limits: l, made: map[string]bool{}}
	reader := tar.NewReader(from)
	for {
		head, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, io.ErrUnexpectedEOF):
			return &Error{Why: "it is not a whole tar: " + err.Error()}
		case errors.Is(err, tar.ErrInsecurePath): // entry says so, with what is meant
		case err != nil:
			return err
		}
		if err := u.entry(head, reader); err != nil {
			return err
		}
	}
}

// unpacking is a bundle while it is unpacked.
type unpacking struct {
	into   *os.Root
	limits Limits
	bytes  int64
	made   map[string]bool // files and folders, also those that only names of others have
}

func (u *unpacking) entry(head *tar.Header, from io.Reader) error {
	if head.Typeflag == tar.TypeXGlobalHeader {
		return nil // git archive writes one, with the commit
	}
	name, err := clean(head.Name)
	if err != nil || name == "." {
		return err
	}
	for i, c := range name + "/" {
		if c == '/' {
			u.made[name[:i]] = true
		}
	}
	if len(u.made) > u.limits.Files {
		return &Error{Why: fmt.Sprintf("more than %d files and folders; leave out what the job does not need", u.limits.Files)}
	}
	switch head.Typeflag {
	case tar.TypeDir:
		return u.folder(name)
	case tar.TypeReg:
		return u.file(name, head, from)
	case tar.TypeSymlink, tar.TypeLink:
		return &Error{name, "a link; put the file itself there, as tar -h does"}
	}
	return &Error{name, "neither a file nor a folder"}
}

// clean returns the name without "./" in front and "/" behind.
func clean(name string) (string, error) {
	short := path.Clean(name)
	switch {
	case name == "" || len(name) > maxName || strings.ContainsRune(name, 0):
		return "", &Error{name, fmt.Sprintf("a name of 1 to %d bytes is expected", maxName)}
	case !fs.ValidPath(short) || strings.Contains("/"+name+"/", "/../"):
		return "", &Error{name, "the name leads out of the folder; use names relative to it"}
	case strings.Count(short, "/") >= maxDepth:
		return "", &Error{name, fmt.Sprintf("more than %d folders deep", maxDepth)}
	}
	return short, nil
}

// folder makes a folder and those above it.
func (u *unpacking) folder(name string) error {
	err := u.into.MkdirAll(name, 0o700)
	if errors.Is(err, fs.ErrExist) || notFolder(err) {
		return &Error{name, "the name occurs twice, as a file and as a folder"}
	}
	return err
}

// notFolder reports whether a file is where a folder is needed.
func notFolder(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && errors.Is(at.Err, syscall.ENOTDIR)
}

func (u *unpacking) file(name string, head *tar.Header, from io.Reader) error {
	if dir := path.Dir(name); dir != "." {
		if err := u.folder(dir); err != nil {
			return err
		}
	}
	perm := fs.FileMode(0o400)
	if head.Mode&0o111 != 0 {
		perm = 0o500
	}
	left := u.limits.Bytes - u.bytes
	if head.Size < 0 || head.Size > left {
		return u.tooLarge()
	}
	file, err := u.into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &Error{name, "the name occurs twice"}
	case err != nil:
		return err
	}
	n, err := io.Copy(file, io.LimitReader(from, left+1)) // a sparse file may be longer than it says
	u.bytes += n
	err = errors.Join(err, file.Chmod(perm), file.Close())
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{name, "the tar ends in the middle of it"}
	case err == nil && n > left:
		return u.tooLarge()
	}
	return err
}

func (u *unpacking) tooLarge() error {
	return &Error{Why: fmt.Sprintf("its files have more than %d bytes together ([data] bundle in sluice.toml); leave out what the job does not need", u.limits.Bytes)}
}
