package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// sumAtOnce is how many files are summed in parallel: enough to keep a shared file system
// busy, few enough to leave the node's cores to the training.
const sumAtOnce = 4

// Verify compares every file of a checkpoint with its manifest: sizes first, then
// checksums. It reads all files, and stops when ctx ends. A failure that the file system
// rather than the checkpoint may have caused is tried once more.
func (s *Series) Verify(ctx context.Context, name string) (Checkpoint, error) {
	c, err := s.verify(ctx, name)
	if err != nil && ctx.Err() == nil && transient(err) {
		c, err = s.verify(ctx, name)
	}
	return c, err
}

func transient(err error) bool {
	return !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnfinished) && !errors.Is(err, ErrTooNew) &&
		!errors.Is(err, ErrNotRegular) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
}

func (s *Series) verify(ctx context.Context, name string) (Checkpoint, error) {
	dir, err := s.dir.Sub(name)
	if err != nil {
		return Checkpoint{}, err
	}
	defer dir.Close()
	m, err := s.manifest(dir, name)
	if err != nil {
		return Checkpoint{}, err
	}
	// A truncated checkpoint usually shows in its sizes: compare all of them before
	// reading any file.
	for _, f := range m.Files {
		if err := dir.within(f.Path, f.sized); err != nil {
			return Checkpoint{}, err
		}
	}
	if err := dir.sumAll(ctx, m.Files); err != nil {
		return Checkpoint{}, err
	}
	return Checkpoint{Name: name, Manifest: m, verified: true}, nil
}

// sumAll compares the files' checksums, a few in parallel, and returns the first error,
// which stops the rest.
func (d *Dir) sumAll(ctx context.Context, files []File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan File)
	var workers sync.WaitGroup
	for range min(sumAtOnce, len(files)) {
		workers.Go(func() {
			for f := range work {
				if err := d.within(f.Path, f.summed(ctx)); err != nil {
					cancel(err) // the first one stays
				}
			}
		})
	}
	for _, f := range files {
		work <- f
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}

// within opens the file at a path of several components below d, following no link
// anywhere, and calls use with it. A missing file makes the checkpoint invalid.
func (d *Dir) within(p string, use func(*os.File, fs.FileInfo) error) error {
	dir := d
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		sub, err := dir.Sub(part)
		if err != nil {
			return missing(p, err)
		}
		defer sub.Close()
		dir = sub
	}
	f, info, err := dir.Open(parts[len(parts)-1])
	if err != nil {
		return missing(p, err)
	}
	defer f.Close()
	return use(f, info)
}

func missing(p string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRegular) {
		return invalid("%s: %w", p, err)
	}
	return err
}

func (f File) sized(_ *os.File, info fs.FileInfo) error {
	if info.Size() != f.Size {
		return invalid("%s has %d bytes, its manifest says %d", f.Path, info.Size(), f.Size)
	}
	return nil
}

func (f File) summed(ctx context.Context) func(*os.File, fs.FileInfo) error {
	return func(file *os.File, info fs.FileInfo) error {
		// Another file may have replaced it since its size was read.
		if err := f.sized(file, info); err != nil {
			return err
		}
		size, sum, err := sumOf(ctx, io.LimitReader(file, f.Size+1))
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", f.Path, err)
		case size != f.Size:
			return invalid("%s has %d bytes, its manifest says %d", f.Path, size, f.Size)
		case sum != f.SHA256:
			return invalid("%s is damaged: its checksum differs from its manifest's", f.Path)
		}
		return nil
	}
}

// buffers are of 1 MB each, for sumOf.
var buffers = sync.Pool{New: func() any { return new([1 << 20]byte) }}

// sumOf reads to the end; it checks ctx once per MB.
func sumOf(ctx context.Context, r io.Reader) (int64, string, error) {
	hash := sha256.New()
	whole := buffers.Get().(*[1 << 20]byte)
	defer buffers.Put(whole)
	buffer := whole[:]
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return size, "", err
		}
		n, err := r.Read(buffer)
		hash.Write(buffer[:n])
		size += int64(n)
		if errors.Is(err, io.EOF) {
			return size, hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err != nil {
			return size, "", err
		}
	}
}

// sumTree lists every file below dir except the manifest, flushed and summed. Names in
// the folders below are flushed as well; those in dir itself are flushed with the
// manifest.
func sumTree(ctx context.Context, dir *Dir) ([]File, error) {
	var files []File
	err := fs.WalkDir(dir.root.FS(), ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == "." || p == ManifestFile || strings.HasSuffix(p, tempSuffix), silly(path.Base(p)):
			return nil
		case entry.IsDir():
			return dir.syncBelow(p)
		}
		return dir.within(p, func(f *os.File, _ fs.FileInfo) error {
			if err := f.Sync(); err != nil {
				return err
			}
			size, sum, err := sumOf(ctx, f)
			files = append(files, File{Path: path.Clean(p), Size: size, SHA256: sum})
			return err
		})
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// syncBelow makes the names in the folder at p, below d, durable.
func (d *Dir) syncBelow(p string) error {
	above, name, err := d.Reach(p)
	if err != nil {
		return err
	}
	defer above.Close()
	folder, err := above.Sub(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
