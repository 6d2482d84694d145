package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWriteReplacesWhole(t *testing.T) {
	base := t.TempDir()
	d := openDir(t, base)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, content := range []string{"first", "", "second, longer"} {
		if err := d.Write("f", []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := d.Read("f", 100)
		if err != nil || string(got) != content {
			t.Fatalf("read %q, %v; want %q", got, err, content)
		}
	}
	info, _ := os.Stat(filepath.Join(base, "f"))
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v: the umask must not hide the file from the other side", info.Mode())
	}
	if names, _ := d.Names(10); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestWriteFailureKeepsOld(t *testing.T) {
	base := t.TempDir()
	d := openDir(t, base)
	mkdir(t, filepath.Join(base, "f", "in the way"))
	if err := d.Write("f", []byte("x"), 0o644); err == nil {
		t.Fatal("replaced a directory that is not empty")
	}
	if names, _ := d.Names(10); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestNamesThatLeave(t *testing.T) {
	d := openDir(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", "../x", "/etc/passwd", "a\x00b", strings.Repeat("a", 256)} {
		_, _, open := d.Open(name)
		_, sub := d.Sub(name)
		_, made := d.Make(name, 0o755)
		for verb, err := range map[string]error{"open": open, "sub": sub, "make": made,
			"write": d.Write(name, nil, 0o644), "remove": d.Remove(name), "remove all": d.RemoveAll(name)} {
			if !errors.Is(err, ErrName) {
				t.Errorf("%s %q: %v, want ErrName", verb, name, err)
			}
		}
	}
}

// TestPlanted plants everything a user can put in a file's place.
func TestPlanted(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	put(t, outside, "another user's")
	plant := map[string]func(p string) error{
		"link out":    func(p string) error { return os.Symlink(outside, p) },
		"link inside": func(p string) error { put(t, p+".real", "x"); return os.Symlink(filepath.Base(p)+".real", p) },
		"hard link":   func(p string) error { return os.Link(outside, p) },
		"FIFO":        func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"directory":   func(p string) error { return os.Mkdir(p, 0o755) },
	}
	for what, f := range plant {
		t.Run(what, func(t *testing.T) {
			base := t.TempDir()
			mkdir(t, filepath.Join(base, "job"))
			if err := f(filepath.Join(base, "job", "runner.json")); err != nil {
				t.Fatal(err)
			}
			d, err := openDir(t, base).Owned("job", me())
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if data, err := d.Read("runner.json", 100); !errors.Is(err, ErrNotRegular) {
				t.Errorf("read %q, %v; want ErrNotRegular", data, err)
			}
		})
	}
}

func TestSubRefusesLinks(t *testing.T) {
	base := t.TempDir()
	mkdir(t, filepath.Join(base, "real"))
	os.Symlink("real", filepath.Join(base, "link"))
	d := openDir(t, base)
	if _, err := d.Sub("link"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("followed a link: %v", err)
	}
	if _, err := d.Make("link", 0o755); !errors.Is(err, ErrNotRegular) {
		t.Errorf("made do with a link: %v", err)
	}
	if _, err := d.Sub("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestOwner(t *testing.T) {
	base := t.TempDir()
	put(t, filepath.Join(base, "job", "f"), "x")
	if _, err := openDir(t, base).Owned("job", me()+1); !errors.Is(err, ErrOwner) {
		t.Errorf("took another's directory: %v", err)
	}
	if os.Getuid() != 0 {
		t.Skip("LOUD SKIP: giving a file to another user needs root")
	}
	if err := os.Chown(filepath.Join(base, "job", "f"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(t, base).Owned("job", me())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read("f", 10); !errors.Is(err, ErrOwner) {
		t.Errorf("believed another's file: %v", err)
	}
}

func TestReadIsBounded(t *testing.T) {
	base := t.TempDir()
	d := openDir(t, base)
	put(t, filepath.Join(base, "f"), "12345678")
	if _, err := d.Read("f", 8); err != nil {
		t.Error(err)
	}
	if _, err := d.Read("f", 7); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	if err := os.Truncate(filepath.Join(base, "f"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read("f", 1<<16); !errors.Is(err, ErrTooLarge) {
		t.Errorf("sparse giant: %v, want ErrTooLarge", err)
	}
}

func TestSweepRemovesTornWritesOnly(t *testing.T) {
	base := t.TempDir()
	d := openDir(t, base)
	for _, name := range []string{tempName("runner.json"), tempName("request.json"), "runner.json", ".profile"} {
		put(t, filepath.Join(base, name), "x")
	}
	if err := d.Sweep(); err != nil {
		t.Fatal(err)
	}
	if names, _ := d.Names(10); len(names) != 2 {
		t.Errorf("left %v, want runner.json and .profile", names)
	}
}

// TestSwapping reads while its owner keeps swapping the file for a soft or hard
// link to another user's secret: what comes back is the file or an error, never
// the secret.
func TestSwapping(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("LOUD SKIP: giving a file to another user needs root")
	}
	base := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "secret")
	if err := os.Chown(secret, 12345, -1); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(base, "f")
	put(t, p, "honest")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // the attacker
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Symlink(secret, p+".l")
			os.Rename(p+".l", p)
			os.Link(secret, p+".h")
			os.Rename(p+".h", p)
			os.WriteFile(p+".n", []byte("honest"), 0o644)
			os.Rename(p+".n", p)
		}
	}()
	d := openDir(t, base)
	d.owner = int64(me())
	read := 0
	for range 20_000 {
		data, err := d.Read("f", 100)
		if err == nil {
			read++
			if string(data) != "honest" {
				t.Errorf("read %q", data)
				break
			}
		}
	}
	close(stop)
	<-done
	t.Logf("%d of 20000 reads found the honest file", read)
}
