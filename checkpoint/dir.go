package checkpoint

import (
	"crypto/rand"
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

// Reasons not to read a file. Test with errors.Is.
var (
	// ErrNotRegular: a link, FIFO, device or directory where a file, or a
	// link where a directory, should be; or a file with a second name.
	ErrNotRegular = errors.New("not a plain file of its own")
	// ErrOwner: it belongs to another user.
	ErrOwner = errors.New("owned by another user")
	// ErrTooLarge: longer than a valid file of this kind.
	ErrTooLarge = errors.New("too large")
	// ErrName: a name that leads out of the directory or begins with a dot.
	ErrName = errors.New("not a name inside the directory")
)

// anyUser makes a Dir accept files of any owner.
const anyUser = -1

// Dir is a directory held open. Everything is looked up inside it and no symbolic link is
// followed, so that links made by its owner lead nowhere. Opening it again also shows
// what other nodes wrote: network file systems revalidate a directory when it is opened.
type Dir struct {
	root  *os.Root
	owner int64 // the uid that must own what is opened, or anyUser
}

// OpenDir opens a directory by a trusted path (it comes from the configuration); links in
// that path are followed.
func OpenDir(name string) (*Dir, error) {
	root, err := os.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		askAgain(path.Dir(path.Clean(name)))
		root, err = os.OpenRoot(name)
	}
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, owner: anyUser}, nil
}

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Path returns the path with which the directory was opened.
func (d *Dir) Path() string { return path.Clean(d.root.Name()) }

// Owned returns the sub-directory if the uid owns it. From then on everything in it that
// this uid does not own is refused: ErrOwner.
func (d *Dir) Owned(name string, uid uint32) (*Dir, error) {
	// Another user's directory is not even opened.
	if info, err := d.Lstat(name); err == nil && ownerOf(info) != int64(uid) {
		return nil, fmt.Errorf("%s: %w", path.Join(d.Path(), name), ErrOwner)
	}
	sub, err := d.Sub(name)
	if err != nil {
		return nil, err
	}
	info, err := sub.root.Stat(".")
	if err == nil && ownerOf(info) != int64(uid) {
		err = fmt.Errorf("%s: %w", sub.Path(), ErrOwner)
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	sub.owner = int64(uid)
	return sub, nil
}

// Sub opens the directory of that name, one path component, in d. For a link the error is
// ErrNotRegular.
func (d *Dir) Sub(name string) (*Dir, error) {
	if !plainName(name) {
		return nil, fmt.Errorf("%q: %w", name, ErrName)
	}
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s: %w", path.Join(d.Path(), name), ErrNotRegular)
	}
	// With a trailing "/." the system opens the name as a directory or not at all.
	// Without it OpenRoot would wait for a writer if a FIFO had replaced the directory.
	root, err := d.root.OpenRoot(name + "/.")
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s: %w", path.Join(d.Path(), name), ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	// What was opened must be what was examined: in between the owner may have replaced
	// it by a link.
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: %w", path.Join(d.Path(), name), ErrNotRegular)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Dir{root: root, owner: d.owner}, nil
}

// Make returns the directory of that name in d, and creates it with perm if it does not
// exist.
func (d *Dir) Make(name string, perm fs.FileMode) (*Dir, error) {
	if !plainName(name) {
		return nil, fmt.Errorf("%q: %w", name, ErrName)
	}
	err := d.root.Mkdir(name, perm)
	switch {
	case err == nil:
		// Mkdir is subject to the umask; the other side must be able to read it.
		if err := d.root.Chmod(name, perm); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	return d.Sub(name)
}

// OwnGroup sets the directory's group to that of this process, and new files in it get
// their writer's group. Below a setgid directory everything would get that directory's
// group, and count for its quota.
func (d *Dir) OwnGroup() error {
	info, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	own := os.Getegid()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Gid) == own && info.Mode()&fs.ModeSetgid == 0 {
		return nil
	}
	if err := d.root.Chown(".", -1, own); err != nil {
		return err
	}
	return d.root.Chmod(".", info.Mode().Perm())
}

// replacements is how often a file may be replaced by its writer while it is being opened
// before that is an error.
const replacements = 8

// Open opens a regular file with a single hard link for reading; name is one path
// component. The other side replaces its files by renaming; a file replaced in between is
// opened again.
func (d *Dir) Open(name string) (*os.File, fs.FileInfo, error) {
	if !plainName(name) {
		return nil, nil, fmt.Errorf("%q: %w", name, ErrName)
	}
	for n := 1; ; n++ {
		f, info, err := d.open(name)
		if !errors.Is(err, errReplaced) || n == replacements {
			return f, info, err
		}
	}
}

// errReplaced: the name referred to another file when it was opened.
var errReplaced = fmt.Errorf("replaced while it was opened: %w", ErrNotRegular)

func (d *Dir) open(name string) (*os.File, fs.FileInfo, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", path.Join(d.Path(), name), ErrNotRegular)
	}
	// O_NONBLOCK: if a FIFO has replaced the file, opening it must not wait for a writer.
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err == nil {
		err = d.acceptable(before, after)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path.Join(d.Path(), name), err)
	}
	return f, after, nil
}

// acceptable compares what was examined with what was opened.
func (d *Dir) acceptable(before, after fs.FileInfo) error {
	stat, ok := after.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !after.Mode().IsRegular():
		return ErrNotRegular
	case !os.SameFile(before, after):
		return errReplaced
	case d.owner == anyUser:
		return nil
	case int64(stat.Uid) != d.owner:
		return ErrOwner
	// A second name is a hard link to another file. The check of the owner is what keeps
	// other users' files out: the link count may change in between.
	case stat.Nlink > 1:
		return ErrNotRegular
	}
	return nil
}

// Read returns the whole file, of at most max bytes; ErrTooLarge if it is longer.
func (d *Dir) Read(name string, max int64) ([]byte, error) {
	f, info, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > max {
		return nil, fmt.Errorf("%s: %d bytes, more than %d: %w", path.Clean(f.Name()), info.Size(), max, ErrTooLarge)
	}
	// It may grow while it is read.
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("%s: more than %d bytes: %w", path.Clean(f.Name()), max, ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Write replaces a file atomically: readers see the old content or the new, never a part,
// and after a crash one of the two exists. The name is one path component. On an error
// the old file is unchanged.
func (d *Dir) Write(name string, data []byte, perm fs.FileMode) error {
	if !plainName(name) {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	temp, err := d.temp(name, data, perm)
	if err != nil {
		return err
	}
	if err = d.settle(); err == nil {
		err = d.root.Rename(temp, name)
	}
	if err != nil {
		d.root.Remove(temp) // best effort: Sweep removes the rest
		return err
	}
	return d.Sync()
}

// Create is Write for a name that does not exist; of several concurrent writers one
// succeeds, if the file system supports hard links. The others get fs.ErrExist.
func (d *Dir) Create(name string, data []byte, perm fs.FileMode) error {
	if _, err := d.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s: %w", name, fs.ErrExist))
	}
	temp, err := d.temp(name, data, perm)
	if err != nil {
		return err
	}
	if err := d.settle(); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	err = d.root.Link(temp, name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if _, taken := d.root.Lstat(name); errors.Is(taken, fs.ErrNotExist) {
			return errors.Join(d.root.Rename(temp, name), d.Sync())
		}
	}
	return errors.Join(err, d.root.Remove(temp), d.Sync())
}

// temp writes a whole file under a temporary name.
func (d *Dir) temp(name string, data []byte, perm fs.FileMode) (string, error) {
	temp := tempName(name)
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", err
	}
	if err := fill(f, data, perm); err != nil {
		d.root.Remove(temp) // best effort: Sweep removes the rest
		return "", err
	}
	return temp, nil
}

// fill writes, flushes and closes a new file. Its mode is set regardless of the umask:
// the other side must be able to read it.
func fill(f *os.File, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// Sync makes created, renamed and removed names durable.
func (d *Dir) Sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	// Some network file systems cannot flush a directory and need not.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// Remove removes a file or an empty directory; a missing one is no error.
func (d *Dir) Remove(name string) error {
	if !plainName(name) {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll removes a name and everything below it. Links are removed, not followed.
func (d *Dir) RemoveAll(name string) error {
	if !plainName(name) {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	return d.root.RemoveAll(name)
}

// Names returns at most max names in the directory, in no order.
func (d *Dir) Names(max int) ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(max)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// Sweep removes the temporary files of writers that were killed. Only the directory's
// single writer may call it.
func (d *Dir) Sweep() error {
	names, err := d.Names(10_000)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix) {
			err = errors.Join(err, d.Remove(name))
		}
	}
	return err
}

const tempSuffix = ".sluice-tmp"

// tempName is different each time: two writers, such as the runner on a node that Slurm
// gave up and its successor, must not mix their bytes.
func tempName(name string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return "." + name + "." + hex.EncodeToString(b[:]) + tempSuffix
}

// plainName reports whether the name is one path component.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 && !strings.ContainsAny(name, "/\x00")
}

func ownerOf(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Uid)
	}
	return -2
}
