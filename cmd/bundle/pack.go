package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// MaxEntries bounds the files and folders that are packed or unpacked.
const MaxEntries = wire.MaxFiles

// advice is what to type if a folder cannot be packed as it is.
const advice = "name what the job needs: --code=PATH[,PATH]"

// Pack returns a tar of the paths, which are files and folders below the folder root, or of everything in it if there are no
// paths. Hidden files are left out unless a path names them. The same files give the same bytes: entries are in the order
// of their names, without times, owners or groups, with mode 0755 or 0644. Links and files of other kinds are errors
// that name the file, and so are files that have more than most bytes together.
func Pack(root string, paths []string, most int64) ([]byte, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the job's code: %w", err)
	}
	defer dir.Close()
	p := packer{dir: dir, left: most, limit: most, seen: map[string]bool{}}
	p.tar = tar.NewWriter(&p.out)
	if len(paths) == 0 {
		paths = []string{"."}
	}
	paths = slices.Clone(paths)
	slices.Sort(paths)
	for _, name := range paths {
		if err := p.path(path.Clean(name)); err != nil {
			return nil, err
		}
	}
	if err := p.tar.Close(); err != nil {
		return nil, fmt.Errorf("the job's code: %w", err)
	}
	return p.out.Bytes(), nil
}

type packer struct {
	dir     *os.Root
	out     bytes.Buffer
	tar     *tar.Writer
	seen    map[string]bool
	limit   int64  // bytes
	left    int64  // of them
	largest string // the largest file so far
	most    int64  // its bytes
}

// path packs what the user named, with the folders above it.
func (p *packer) path(name string) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("--code=%q: it is not below the current folder; give paths below it", name)
	}
	for i, c := range name {
		if c == '/' {
			if err := p.one(name[:i]); err != nil {
				return err
			}
		}
	}
	return p.all(name)
}

// all packs a file, or a folder with what is in it.
func (p *packer) all(name string) error {
	if err := p.one(name); err != nil {
		return err
	}
	entries, err := fs.ReadDir(p.dir.FS(), name)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return wrong(name, err)
	}
	for _, e := range entries { // in the order of their names
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := p.all(path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// one packs one entry, once.
func (p *packer) one(name string) error {
	if p.seen[name] || name == "." {
		return nil
	}
	if p.seen[name] = true; len(p.seen) > MaxEntries {
		return fmt.Errorf("the job's code has more than %d files and folders; %s", MaxEntries, advice)
	}
	info, err := p.dir.Lstat(name)
	if err != nil {
		return wrong(name, err)
	}
	h := &tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, Size: info.Size()}
	switch mode := info.Mode(); {
	case mode.IsDir():
		h.Name, h.Mode, h.Typeflag, h.Size = name+"/", 0o755, tar.TypeDir, 0
		return wrong(name, p.tar.WriteHeader(h))
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%q is a link, and no link goes to the data; %s, without it, or put the file itself there", name, advice)
	case !mode.IsRegular():
		return fmt.Errorf("%q is neither a file nor a folder; %s, without it", name, advice)
	case mode&0o111 != 0:
		h.Mode = 0o755
	}
	if h.Size > p.most {
		p.largest, p.most = name, h.Size
	}
	if p.left -= h.Size; p.left < 0 {
		return fmt.Errorf("the job's code is larger than the %d MiB that may go along, at %q (the largest file so far is %q, %d KiB); %s", p.limit>>20, name, p.largest, p.most>>10, advice)
	}
	return p.file(name, info, h)
}

// file packs the contents of a file, which must be the one that was looked at.
func (p *packer) file(name string, info fs.FileInfo, h *tar.Header) error {
	file, err := p.dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return wrong(name, err)
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(info, now) || now.Size() != h.Size {
		return changed(name)
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return wrong(name, err)
	}
	if _, err := io.CopyN(p.tar, file, h.Size); err != nil {
		return changed(name)
	}
	return nil
}

func changed(name string) error {
	return fmt.Errorf("the job's code: %q was changed while it was read; try again", name)
}

// wrong is an error about a file, without the operation.
func wrong(name string, err error) error {
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("the job's code: %q: %w", name, err)
}
