// Package python contains the training library that users import, its form for C and C++
// (include/sluice.h) and the examples, embedded in the program, so that every job gets
// the version that its runner supports.
package python

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed sluice/*.py sluice/py.typed include/*.h examples/*.py examples/*.sh examples/*.cpp
var files embed.FS

// WriteTo writes the library to dir/sluice and the examples to dir/examples, readable by
// all; put dir into PYTHONPATH. Files that are already the same are not touched; each
// other file is replaced atomically, so that programs may import it at the same time.
func WriteTo(dir string) error {
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, content) {
			return nil
		}
		return replace(to, content)
	})
	if err != nil {
		return fmt.Errorf("the Python library: %w", err)
	}
	return nil
}

// replace writes a file under another name and renames it. It need not survive a crash:
// it is written again.
func replace(to string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(to), ".sluice-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing to remove once renamed
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o755)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}
