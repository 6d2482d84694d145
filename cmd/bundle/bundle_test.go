package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const maxSize = 64 << 20

// tree writes files below a new folder; a name that ends with a slash is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		folder := filepath.Dir(p)
		if strings.HasSuffix(name, "/") {
			folder = p
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if folder == p {
			continue
		}
		if err := os.WriteFile(p, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listed are the entries of a tar.
func listed(t *testing.T, raw []byte) (out []string) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(raw))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.IsZero() && h.ModTime.Unix() != 0 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s: %v, user %d %q", h.Name, h.ModTime, h.Uid, h.Uname)
		}
		mode := ""
		if h.Mode == 0o755 && h.Typeflag == tar.TypeReg {
			mode = "*"
		}
		out = append(out, h.Name+mode+"="+string(body))
	}
}

func TestPack(t *testing.T) {
	dir := tree(t, map[string]string{"train.py": "a", ".git/x": "no", ".env": "no", "src/b.py": "b", "src/.hid": "no", "src/deep/c": "c", "empty/": "", "run.sh": "r"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, "empty/= run.sh*=r src/= src/b.py=b src/deep/= src/deep/c=c train.py=a"},
		{[]string{"src/deep", "train.py"}, "src/= src/deep/= src/deep/c=c train.py=a"},
		{[]string{"src/deep", "src", "src/./b.py"}, "src/= src/b.py=b src/deep/= src/deep/c=c"},
		{[]string{".env"}, ".env=no"},
	} {
		raw, err := Pack(dir, c.paths, maxSize)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(listed(t, raw), " "); got != c.want {
			t.Errorf("%v: got  %s\nwant %s", c.paths, got, c.want)
		}
	}
}

// TestPackIsDeterministic: times and the order of making do not count.
func TestPackIsDeterministic(t *testing.T) {
	files := map[string]string{"a": "1", "b/c": "2", "b/d": "3"}
	one, two := tree(t, files), tree(t, files)
	if err := os.Chtimes(filepath.Join(two, "a"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	first, err := Pack(one, nil, maxSize)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Pack(two, []string{"b", "a"}, maxSize)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("they differ (%v)", err)
	}
}

// TestPackRefuses: each refusal names the file and says what to type.
func TestPackRefuses(t *testing.T) {
	for what, c := range map[string]struct {
		make  func(dir string) error
		paths []string
		want  []string
	}{
		"a link":           {func(d string) error { return os.Symlink("/etc/passwd", filepath.Join(d, "src/l")) }, nil, []string{`"src/l" is a link`, "--code="}},
		"a link inside":    {func(d string) error { return os.Symlink("a", filepath.Join(d, "src/l")) }, nil, []string{`"src/l" is a link`}},
		"a named link":     {func(d string) error { return os.Symlink("src", filepath.Join(d, "l")) }, []string{"l"}, []string{`"l" is a link`}},
		"through a link":   {func(d string) error { return os.Symlink("src", filepath.Join(d, "l")) }, []string{"l/a"}, []string{`"l" is a link`}},
		"a pipe":           {func(d string) error { return syscall.Mkfifo(filepath.Join(d, "p"), 0o600) }, nil, []string{`"p" is neither a file nor a folder`, "--code="}},
		"a folder outside": {func(string) error { return nil }, []string{"../x"}, []string{"not below the current folder"}},
		"nothing":          {func(string) error { return nil }, []string{"none"}, []string{`"none": no such file`}},
		"too large": {func(d string) error { return os.Truncate(filepath.Join(d, "src/a"), maxSize+1) }, nil,
			[]string{"larger than the 64 MiB", `"src/a"`, "--code="}},
		"unreadable": {func(d string) error {
			if os.Getuid() == 0 {
				return errors.New("root reads everything")
			}
			return os.Chmod(filepath.Join(d, "src/a"), 0)
		}, nil, []string{`"src/a": permission denied`}},
	} {
		dir := tree(t, map[string]string{"src/a": "x"})
		if err := c.make(dir); err != nil {
			t.Logf("%s: NOT TESTED: %v", what, err)
			continue
		}
		_, err := Pack(dir, c.paths, maxSize)
		if err == nil {
			t.Errorf("%s: packed", what)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v: no %q", what, err, w)
			}
		}
	}
}

// archive is a tar of entries.
func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		body := "body of " + h.Name
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpack(t *testing.T) {
	dir := tree(t, map[string]string{"there": "old"})
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.Receive(bytes.NewReader(archive(t, tar.Header{Name: "model.pt"}, tar.Header{Name: "a/b/c.json", Mode: 0o4777}, tar.Header{Name: "there"})))
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, a := range all {
		if err := f.Place(a, false); (err != nil) != (a.Name == "there") || err != nil && !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
	expect(t, dir, map[string]string{"model.pt": "body of model.pt", "a/b/c.json": "body of a/b/c.json", "there": "old"})
	if info, err := os.Stat(filepath.Join(dir, "a/b/c.json")); err != nil || info.Mode().Perm()&^0o644 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := f.Place(all[2], true); err != nil {
		t.Error(err)
	}
	expect(t, dir, map[string]string{"there": "body of there"})
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".sluice-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func expect(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestUnpackFollowsNoLink: neither a folder on the way nor the file itself.
func TestUnpackFollowsNoLink(t *testing.T) {
	for _, over := range []bool{false, true} {
		outside := tree(t, map[string]string{"file": "mine"})
		dir := tree(t, map[string]string{"real/x": ""})
		for name, to := range map[string]string{"folder": outside, "inner": "real", "file": filepath.Join(outside, "file"), "new": filepath.Join(outside, "new")} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		all, err := f.Receive(bytes.NewReader(archive(t, tar.Header{Name: "folder/file"}, tar.Header{Name: "inner/y"}, tar.Header{Name: "file"}, tar.Header{Name: "new"})))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if err := f.Place(a, over); err == nil && !(over && (a.Name == "file" || a.Name == "new")) {
				t.Errorf("over %v: %s was written", over, a.Name)
			}
		}
		expect(t, outside, map[string]string{"file": "mine"})
		for _, name := range []string{filepath.Join(outside, "new"), filepath.Join(dir, "real/y")} {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("over %v: %s was written through a link", over, name)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHostileArchives: nothing of them is in the folder afterwards, nor anywhere else.
func TestHostileArchives(t *testing.T) {
	huge := archive(t, tar.Header{Name: "x"})
	copy(huge[124:136], "77777777777\x00")
	sum := 0 // of the header, its own field as spaces
	for i, b := range huge[:512] {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int(b)
	}
	copy(huge[148:156], []byte{byte('0' + sum>>15&7), byte('0' + sum>>12&7), byte('0' + sum>>9&7), byte('0' + sum>>6&7), byte('0' + sum>>3&7), byte('0' + sum&7), 0, ' '})
	for what, raw := range map[string][]byte{
		"up":             archive(t, tar.Header{Name: "../x"}),
		"up inside":      archive(t, tar.Header{Name: "a/../../x"}),
		"absolute":       archive(t, tar.Header{Name: "/tmp/sluice-hostile"}),
		"itself":         archive(t, tar.Header{Name: "."}),
		"escape":         archive(t, tar.Header{Name: "a\x1b[2Jb"}),
		"newline":        archive(t, tar.Header{Name: "a\nb"}),
		"no UTF-8":       archive(t, tar.Header{Name: "a\xffb"}),
		"link":           archive(t, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
		"hard link":      archive(t, tar.Header{Name: "x"}, tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "x"}),
		"device":         archive(t, tar.Header{Name: "d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}),
		"pipe":           archive(t, tar.Header{Name: "p", Typeflag: tar.TypeFifo}),
		"twice":          archive(t, tar.Header{Name: "x"}, tar.Header{Name: "x"}),
		"long name":      archive(t, tar.Header{Name: strings.Repeat("x", 256)}),
		"broken off":     archive(t, tar.Header{Name: "x"})[:520],
		"no tar":         bytes.Repeat([]byte("x"), 2048),
		"an 8 GiB claim": huge,
	} {
		dir := t.TempDir()
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Receive(bytes.NewReader(raw)); err == nil {
			t.Errorf("%s: received", what)
		} else if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: the message has control characters: %q", what, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
	}
}

// FuzzReceive: whatever is sent, nothing is written outside of the hidden folder.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		to, err := Open(filepath.Join(dir, "in"))
		if err != nil {
			t.Fatal(err)
		}
		all, _ := to.Receive(bytes.NewReader(raw))
		for _, a := range all {
			_ = to.Place(a, false)
		}
		if err := to.Close(); err != nil {
			t.Error(err)
		}
		if outside, _ := os.ReadDir(dir); len(outside) > 1 {
			t.Errorf("%v", outside)
		}
	})
}
