package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var limits = Limits{Bytes: 1000, Files: 20}

// packed is a tar of these entries.
func packed(t testing.TB, heads ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range heads {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			w.Write(bytes.Repeat([]byte("x"), int(h.Size)))
		}
	}
	w.Close()
	return b.Bytes()
}

// folder returns an empty folder, and its root.
func folder(t testing.TB) (string, *os.Root) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "code")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

// made lists all below the folder, with modes and sizes of files.
func made(t testing.TB, dir string) (names []string) {
	t.Helper()
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		info, _ := d.Info()
		if rest, _ := filepath.Rel(dir, p); rest != "." {
			names = append(names, rest+" "+info.Mode().String())
		}
		return nil
	})
	return names
}

func TestUnpack(t *testing.T) {
	dir, root := folder(t)
	raw := packed(t, tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "./train.py", Size: 10, Mode: 0o644},
		tar.Header{Name: "lib/run.sh", Size: 3, Mode: 0o6755}, tar.Header{Name: "lib/", Typeflag: tar.TypeDir, Mode: 0o1777}, tar.Header{Name: "lib/a..b", Mode: 0})
	if err := Unpack(root, bytes.NewReader(raw), limits); err != nil {
		t.Fatal(err)
	}
	want := []string{"lib drwx------", "lib/a..b -r--------", "lib/run.sh -r-x------", "train.py -r--------"}
	if got := made(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A folder counts once, whether the tar has it or only a name below it, and whichever is first.
func TestFoldersCountOnce(t *testing.T) {
	_, root := folder(t)
	raw := packed(t, tar.Header{Name: "a/b/1"}, tar.Header{Name: "a/", Typeflag: tar.TypeDir}, tar.Header{Name: "a/b/", Typeflag: tar.TypeDir}, tar.Header{Name: "a/b/2"})
	if err := Unpack(root, bytes.NewReader(raw), Limits{Bytes: 10, Files: 4}); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	file := func(name string, size int64) tar.Header { return tar.Header{Name: name, Size: size, Mode: 0o644} }
	many := make([]tar.Header, limits.Files+1)
	for i := range many {
		many[i] = file(strings.Repeat("a", i+1), 0)
	}
	for what, heads := range map[string][]tar.Header{
		"symbolic link":   {{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"hard link":       {file("b", 1), {Name: "a", Typeflag: tar.TypeLink, Linkname: "b"}},
		"device":          {{Name: "a", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"block device":    {{Name: "a", Typeflag: tar.TypeBlock}},
		"fifo":            {{Name: "a", Typeflag: tar.TypeFifo}},
		"absolute":        {file("/etc/x", 1)},
		"above":           {file("../x", 1)},
		"above inside":    {file("a/../../x", 1)},
		"dots inside":     {file("a/../x", 1)},
		"twice":           {file("a", 1), file("a", 1)},
		"file and folder": {file("a", 1), file("a/b", 1)},
		"folder and file": {file("a/b", 1), file("a", 1)},
		"too large":       {file("a", 600), file("b", 401)},
		"too many":        many,
		"too many above":  {file("a/b/c/d/e/f/g/h/i", 1), file("a/b/C/d/e/f/g/h/i", 1), file("a/B/c/d/e/f", 1)}, // 20 folders and files, and one
		"deep":            {file(strings.Repeat("a/", maxDepth)+"b", 1)},
		"long":            {file(strings.Repeat("a", maxName+1), 1)},
	} {
		dir, root := folder(t)
		err := Unpack(root, bytes.NewReader(packed(t, heads...)), limits)
		var refused *Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", what, err)
		}
		if up := made(t, filepath.Dir(dir)); !strings.HasPrefix(up[0], "code ") || slices.ContainsFunc(up, func(n string) bool { return !strings.HasPrefix(n, "code") }) {
			t.Errorf("%s: outside of the folder is %q", what, up)
		}
	}
	_, root := folder(t)
	whole := packed(t, file("a", 600))
	for _, n := range []int{100, 512, 800} {
		var refused *Error
		if err := Unpack(root, bytes.NewReader(whole[:n]), limits); n != 512 && !errors.As(err, &refused) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
		root.Remove("a")
	}
}

// A link that is in the folder already leads nowhere.
func TestLinkInTheFolder(t *testing.T) {
	dir, root := folder(t)
	outside := filepath.Join(filepath.Dir(dir), "outside")
	os.Mkdir(outside, 0o700)
	os.Symlink(outside, filepath.Join(dir, "out"))
	if err := Unpack(root, bytes.NewReader(packed(t, tar.Header{Name: "out/x", Size: 1, Mode: 0o644})), limits); err == nil {
		t.Error("a file was written through a link")
	}
	if left := made(t, outside); len(left) > 0 {
		t.Errorf("outside there is %q", left)
	}
}

// FuzzUnpack: whatever the tar, all of it is below the folder, within the limits, and files and folders only.
func FuzzUnpack(f *testing.F) {
	f.Add(packed(f, tar.Header{Name: "a/b", Size: 3, Mode: 0o644}, tar.Header{Name: "c", Typeflag: tar.TypeDir}))
	f.Add(packed(f, tar.Header{Name: "../b", Size: 3, Mode: 0o644}, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir, root := folder(t)
		Unpack(root, bytes.NewReader(raw), limits)
		total := int64(0)
		filepath.WalkDir(filepath.Dir(dir), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			info, err := d.Info()
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() || info.Mode()&^(fs.ModeDir|0o777) != 0 {
				t.Errorf("%s: %v, %v", p, info.Mode(), err)
			}
			if p != filepath.Dir(dir) && p != dir && !strings.HasPrefix(p, dir+"/") {
				t.Errorf("%s is outside of the folder", p)
			}
			if info.Mode().IsRegular() {
				total += info.Size()
			}
			return nil
		})
		if total > limits.Bytes+1 {
			t.Errorf("%d bytes were written", total)
		}
	})
}
