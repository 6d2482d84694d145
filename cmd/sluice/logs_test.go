package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
)

func banner(job int64, segment int, end bool, words ...string) string {
	return runner.Banner{Job: job, Segment: segment, End: end, Words: words, At: time.Unix(1e9, 0)}.String() + "\n"
}

// printed is a file of two jobs' output, in runs.
var printed = "before any run\n" + banner(7, 0, false) + "first\n" + banner(7, 0, true) + banner(9, 2, false) + "another job\n" +
	banner(7, 2, false, "retry") + "third\n== sluice: no banner\n" + banner(7, 2, true) + banner(7, 2, false) + "third again" +
	"\n" + banner(7, 3, false) + "fourth, no newline"

func TestPicker(t *testing.T) {
	for want, c := range map[string]picker{
		printed: {want: -1},
		banner(7, 0, false) + "first\n" + banner(7, 0, true): {want: 0},
		"": {want: 1},
		banner(7, 2, false, "retry") + "third\n== sluice: no banner\n" + banner(7, 2, true) + banner(7, 2, false) + "third again\n": {want: 2},
		banner(7, 3, false) + "fourth, no newline":                     {want: 3},
		printed[strings.Index(printed, banner(7, 2, false, "retry")):]: {want: 2, onwards: true},
	} {
		rapid.Check(t, func(rt *rapid.T) { // however the pieces are cut
			var out bytes.Buffer
			p := c
			p.out, p.job = &out, 7
			for rest := printed; rest != ""; {
				n := rapid.IntRange(1, min(len(rest), 60)).Draw(rt, "n")
				if _, err := p.Write([]byte(rest[:n])); err != nil {
					rt.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := p.flush(); err != nil {
				rt.Fatal(err)
			}
			if out.String() != want {
				rt.Fatalf("segment %d: %q, want %q", c.want, out.String(), want)
			}
		})
	}
}

func TestLastSegment(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	last := func(text string) (int, error) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n, err := lastSegment(f, 7)
		if at, _ := f.Seek(0, 1); err == nil && at != 0 {
			t.Errorf("stands at %d", at)
		}
		return n, err
	}
	if n, err := last(printed); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := last(strings.Repeat("x", 1<<20) + "\n" + printed[:300] + strings.Repeat("y", 1<<20)); n != 2 && n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := last("nothing of sluice's\n"); err == nil {
		t.Error("a segment where there is none")
	}
}

func TestHarmless(t *testing.T) {
	var out bytes.Buffer
	h := &harmless{out: &out}
	for _, piece := range []string{"plain\tä\n", "red \x1b[31m\r\n", "half \xc3", "\xa4 and \xff\n", "end"} {
		if n, err := h.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "plain\tä\nred \\x1b[31m\\r\nhalf ä and \\ufffd\nend"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestSegmentFlag(t *testing.T) {
	for text, want := range map[string]string{"0": "0", "17": "17", "last": "last", "": "!", "-1": "!", "x": "!", "99999999999": "!"} {
		var s segment
		got := "!"
		if err := s.Set(text); err == nil {
			got = s.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestOpenFile: a job's owner may name any file; a reader of another user's job follows
// no link.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "out"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	own := &logSource{owned: true, uid: uint32(os.Getuid())}
	other := &logSource{owned: true, uid: uint32(os.Getuid()) + 1}
	for _, c := range []struct {
		s    *logSource
		name string
		want string
	}{
		{own, file, ""}, {own, link, ""}, {own, pipe, "keeps nothing"}, {own, "/dev/null", "keeps nothing"}, {own, dir, "keeps nothing"},
		{other, file, "not a file of the job's user"}, {other, link, "is a link"}, {other, pipe, "keeps nothing"},
	} {
		f, err := c.s.openFile(c.name)
		if f != nil {
			f.Close()
		}
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, another's %v: %v, want %q", filepath.Base(c.name), c.s == other, err, c.want)
		}
	}
}

// TestRestart: a file that was written over is read from its start.
func TestRestart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	os.WriteFile(name, []byte("long enough"), 0o644)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Seek(8, 0)
	for size, want := range map[int64]int64{100: 8, 4: 0} {
		f.Seek(8, 0)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		if err := restart(f); err != nil {
			t.Fatal(err)
		}
		if at, _ := f.Seek(0, 1); at != want {
			t.Errorf("of %d bytes: at %d, want %d", size, at, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if pause(ctx, time.Hour) {
		t.Error("went on")
	}
}
