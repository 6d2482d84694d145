package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// maxDepth is the maximum depth of the folders of a checkpoint, as in validPath.
const maxDepth = 32

// ErrUnbounded: more files, or deeper folders, than a checkpoint may have.
var ErrUnbounded = errors.New("more files or deeper folders than a checkpoint may have")

// Entry is a file of a Tree. Its path is relative to the tree's top.
type Entry struct {
	Path     string
	Size     int64
	Modified time.Time
	// Of is the path of the file to which a link of this name points; "" = it is a file
	// itself.
	Of string
}

// Tree is everything below one name, found without following a link.
type Tree struct {
	Plain   bool // the name is a file, the only entry
	Entries []Entry
	// Skipped lists what is left out and why: links that lead out of the tree or to
	// folders, pipes and devices.
	Skipped []string
}

// Newest is the latest modification time of a file of the tree; zero for an empty tree.
func (t Tree) Newest() time.Time {
	var newest time.Time
	for _, e := range t.Entries {
		if e.Modified.After(newest) {
			newest = e.Modified
		}
	}
	return newest
}

// Print is a short text that changes if a file is added, removed or written.
func (t Tree) Print() string {
	hash := sha256.New()
	for _, e := range t.Entries {
		fmt.Fprintf(hash, "%q %q %d %d\n", e.Path, e.Of, e.Size, e.Modified.UnixNano())
	}
	return hex.EncodeToString(hash.Sum(nil)[:12])
}

// Lstat describes the entry of that name, one component, in d: a link itself, not its
// target.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if !plainName(name) {
		return nil, fmt.Errorf("%q: %w", name, ErrName)
	}
	return d.root.Lstat(name)
}

// Rename renames an entry of d; each name is one component.
func (d *Dir) Rename(from, to string) error {
	if !plainName(from) || !plainName(to) {
		return fmt.Errorf("%q, %q: %w", from, to, ErrName)
	}
	return d.root.Rename(from, to)
}

// Reach opens the directory below d that contains the slash-separated path p, and returns
// it with the last component. No link is followed. The caller closes it.
func (d *Dir) Reach(p string) (*Dir, string, error) {
	root, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	dir := &Dir{root: root, owner: d.owner}
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		sub, err := dir.Sub(part)
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = sub
	}
	return dir, parts[len(parts)-1], nil
}

// Tree lists the file of that name, or every file below the folder of that name.
func (d *Dir) Tree(name string) (Tree, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return Tree{}, err
	}
	switch {
	case info.Mode().IsRegular():
		return Tree{Plain: true, Entries: []Entry{{Path: name, Size: info.Size(), Modified: info.ModTime()}}}, nil
	case !info.IsDir():
		return Tree{}, fmt.Errorf("%s: %w", path.Join(d.Path(), name), ErrNotRegular)
	}
	w := walk{links: map[string]string{}}
	top, err := d.Sub(name)
	if err == nil {
		defer top.Close()
		err = w.folder(top, "", 1)
	}
	if err != nil {
		return Tree{}, err
	}
	w.resolve()
	slices.SortFunc(w.tree.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(w.tree.Skipped)
	return w.tree, nil
}

// walk collects a Tree.
type walk struct {
	tree  Tree
	links map[string]string // target of each link, as written
}

func (w *walk) folder(dir *Dir, at string, depth int) error {
	names, err := dir.Names(maxFiles + 1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if silly(name) {
			continue
		}
		p := path.Join(at, name)
		info, err := dir.Lstat(name)
		switch {
		case err != nil:
			return err
		case len(w.tree.Entries)+len(w.links) >= maxFiles, info.IsDir() && depth >= maxDepth:
			return fmt.Errorf("%s: %w", p, ErrUnbounded)
		case info.IsDir():
			err = w.below(dir, name, p, depth)
		case info.Mode().IsRegular():
			w.tree.Entries = append(w.tree.Entries, Entry{Path: p, Size: info.Size(), Modified: info.ModTime()})
		case info.Mode()&fs.ModeSymlink != 0:
			w.links[p], err = dir.root.Readlink(name)
		default:
			w.skip(p, "neither a file nor a folder")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) below(dir *Dir, name, p string, depth int) error {
	sub, err := dir.Sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return w.folder(sub, p, depth+1)
}

// maxSkipped is how many left-out names a Tree lists.
const maxSkipped = 16

func (w *walk) skip(p, why string) {
	if len(w.tree.Skipped) < maxSkipped {
		w.tree.Skipped = append(w.tree.Skipped, clean(p, maxText)+": "+why)
	}
}

// resolve turns links to files of the tree into entries of their own.
func (w *walk) resolve() {
	files := make(map[string]Entry, len(w.tree.Entries))
	for _, e := range w.tree.Entries {
		files[e.Path] = e
	}
	for p, to := range w.links {
		target, inside := files[path.Join(path.Dir(p), to)]
		if !inside || path.IsAbs(to) {
			w.skip(p, "a link to "+clean(to, maxText)+", which is no file of the checkpoint")
			continue
		}
		w.tree.Entries = append(w.tree.Entries, Entry{Path: p, Size: target.Size, Modified: target.Modified, Of: target.Path})
	}
}
