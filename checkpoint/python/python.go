// Package python carries the training library that users import, its form for C and
// C++ (include/sluice.h) and the examples, in the program itself, so that every job
// finds the version that its runner understands.
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

// WriteTo writes the library to dir/sluice and the examples to dir/examples,
// readable to all; put dir into PYTHONPATH. Files that are there already and
// the same are left alone; each other one is replaced as a whole, so that
// programs may be importing it meanwhile.
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

// replace writes a file under another name and renames it. Losing it in a crash
// is no loss: it is written again.
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
