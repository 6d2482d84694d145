package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// taker brings files from one folder into another: as a hard link if wanted and possible,
// as a copy that shares its blocks if the file system can, else as a plain copy.
type taker struct {
	link   bool // hard links are allowed
	copied int  // files that were copied
}

// take adds the open file under a path below to.
func (t *taker) take(ctx context.Context, file *os.File, info fs.FileInfo, to *Dir, p string) error {
	dir, err := to.folders(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(p)
	if t.link && linkOpen(file, dir, name) == nil {
		return nil
	}
	t.copied++
	return copyOpen(ctx, file, info, dir, name)
}

// folders opens the folder of p below d, and creates missing ones.
func (d *Dir) folders(p string) (*Dir, error) {
	dir, _, err := d.Reach("x")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		sub, err := dir.Make(part, 0o700)
		dir.Close()
		if err != nil {
			return nil, err
		}
		dir = sub
	}
	return dir, nil
}

// linkOpen gives the open file itself another name; the name with which it was opened may
// refer to another file by now.
func linkOpen(file *os.File, dir *Dir, name string) error {
	to, err := dir.root.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	from := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	return unix.Linkat(unix.AT_FDCWD, from, int(to.Fd()), name, unix.AT_SYMLINK_FOLLOW)
}

// copyOpen copies the open file. The copy keeps the mode and time of the original: the
// time shows later whether the original is unchanged.
func copyOpen(ctx context.Context, file *os.File, info fs.FileInfo, dir *Dir, name string) error {
	out, err := dir.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(out.Fd()), int(file.Fd())) != nil {
		err = copyBytes(ctx, out, file)
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = dir.root.Chtimes(name, info.ModTime(), info.ModTime())
	}
	return err
}

// copyBytes checks ctx once every 4 MiB.
func copyBytes(ctx context.Context, to io.Writer, from io.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(to, from, 4<<20)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// takeTree adds every entry of the tree of that name in from below to.
func (t *taker) takeTree(ctx context.Context, from *Dir, name string, tree Tree, to *Dir) error {
	for _, e := range tree.Entries {
		source := e.Path
		if e.Of != "" {
			source = e.Of
		}
		if !tree.Plain {
			source = path.Join(name, source)
		}
		if !validPath(e.Path) {
			return fmt.Errorf("%s: %w", e.Path, ErrName)
		}
		err := from.within(source, func(f *os.File, info fs.FileInfo) error { return t.take(ctx, f, info, to, e.Path) })
		if err != nil {
			return err
		}
	}
	return nil
}
