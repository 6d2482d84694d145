package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watch tells of every file below the folder that is opened, read, written, moved or
// removed from now on, by whatever name it was reached.
func watch(t *testing.T, folder string) (touched func() []string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	const all = unix.IN_OPEN | unix.IN_ACCESS | unix.IN_MODIFY | unix.IN_CREATE | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE | unix.IN_MOVE_SELF
	err = filepath.WalkDir(folder, func(p string, entry os.DirEntry, err error) error {
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, p, all)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	drain := func() (events []string) {
		buffer := make([]byte, 256<<10)
		for {
			n, err := unix.Read(fd, buffer)
			if n <= 0 || err != nil {
				return events
			}
			for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
				size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
				events = append(events, fmt.Sprintf("%#x %s", binary.NativeEndian.Uint32(rest[4:]), strings.TrimRight(string(rest[unix.SizeofInotifyEvent:size]), "\x00")))
				rest = rest[size:]
			}
		}
	}
	drain()
	return drain
}

// counted is how many times to try: the usual number, or what the variable says.
func counted(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hostileParts are what names are made of to leave a folder.
var hostileParts = []string{"..", ".", "/", "//", "a", "link", "out", "up", "root", "self", "sub", "00000001", "manifest.json", "model.pt", "", " ", "\x00", "\n", "\\", "~", "$HOME",
	"%2e%2e", "\u2025", "\uff0e\uff0e", "\xc0\xae", "\xff", "proc", "etc", "passwd", "secret", "fd", strings.Repeat("x", 300), ".sluice-tmp", token, "../" + token}

func hostileName(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(5) {
		b.WriteString(hostileParts[rng.IntN(len(hostileParts))])
		if rng.IntN(2) == 0 {
			b.WriteByte('/')
		}
	}
	return b.String()
}

// What counts as a name is one: Go's own word on what stays inside agrees.
func TestNamesThatCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	total, taken, started := counted(t, "SLUICE_NAMES", 300_000), 0, time.Now()
	for range total {
		n := hostileName(rng)
		if plainName(n) && (!filepath.IsLocal(n) || filepath.Base(n) != n || strings.Contains(n, "/")) {
			t.Fatalf("%q counts as one component", n)
		}
		if validPath(n) {
			taken++
			if !filepath.IsLocal(n) || filepath.Clean(n) != n || strings.Contains(n, "\x00") {
				t.Fatalf("%q counts as a path inside", n)
			}
		}
		if (ValidToken(n) || checkpointForm.fits(n)) && strings.Trim(n, "0123456789abcdef") != "" {
			t.Fatalf("%q counts as a token or a checkpoint", n)
		}
	}
	t.Logf("%d names, %d taken, %.0f a second", total, taken, float64(total)/time.Since(started).Seconds())
	if taken == 0 || taken == total {
		t.Errorf("%d of %d taken", taken, total)
	}
}

// Names of whatever kind, for files, folders, checkpoints, tokens and what a manifest
// lists, from outside or by links that lie there: nothing outside of the folder is ever
// opened, made, moved or removed. The kernel tells of everything that is.
func TestHostileNames(t *testing.T) {
	base := t.TempDir()
	outside := mkdir(t, filepath.Join(base, "outside"))
	put(t, filepath.Join(outside, "secret"), "not yours")
	put(t, filepath.Join(outside, "sub", "secret"), "not yours")
	jobs := mkdir(t, filepath.Join(base, "jobs"))
	outbox := filepath.Join(base, "outbox")
	folder := mkdir(t, filepath.Join(jobs, token))
	in := func(p ...string) string { return filepath.Join(append([]string{folder}, p...)...) }
	put(t, in("a"), "mine")
	put(t, in("sub", "a"), "mine")
	plant := func() {
		for name, to := range map[string]string{"link": outside + "/secret", "out": outside, "up": "..", "root": "/", "self": ".", "sub/out": "../../../outside", "sub/up": "../.."} {
			_ = os.Symlink(to, in(name))
		}
		_ = os.Symlink(outside, filepath.Join(jobs, other))
	}
	plant()
	m, err := NewMailbox(jobs, outbox)
	if err != nil {
		t.Fatal(err)
	}
	d := openDir(t, folder)
	s := NewSeries(d, job)
	touched := watch(t, outside)
	rng := rand.New(rand.NewPCG(2, 5))
	total, refused, started := counted(t, "SLUICE_NAMES_OPENED", 3_000), 0, time.Now()
	for i := range total {
		n := hostileName(rng)
		if !oneName(t, m, d, s, n, hostileName(rng), rng.IntN(13)) {
			refused++
		}
		if i%500 == 0 {
			plant()
			_ = d.RemoveAll("00000001")
			_ = d.RemoveAll("made")
		}
		if i%1000 == 0 || i == total-1 {
			if done := touched(); len(done) > 0 {
				t.Fatalf("outside was touched, by %q or one of the 1000 names before: %v", n, done)
			}
		}
	}
	t.Logf("%d names, %d refused, %.0f a second", total, refused, float64(total)/time.Since(started).Seconds())
	if got := slurp(t, filepath.Join(outside, "secret")); got != "not yours" {
		t.Errorf("the secret is %q", got)
	}
	if len(touched()) == 0 {
		t.Error("the watch is dead: it did not hear that the secret was read just now")
	}
}

// oneName does one thing with a name; it reports whether it was taken.
func oneName(t *testing.T, m *Mailbox, d *Dir, s *Series, n, second string, what int) bool {
	var err error
	switch what {
	case 0:
		_, err = d.Read(n, 100)
	case 1:
		err = closing(d.Sub(n))
	case 2:
		err = closing(d.Owned(n, me()))
	case 3:
		err = closing(d.Make(n, 0o755))
	case 4:
		err = d.Write(n, []byte("x"), 0o644)
	case 5:
		err = d.Rename(n, second)
	case 6:
		var sub *Dir
		if sub, _, err = d.Reach(n); err == nil {
			sub.Close()
		}
	case 7:
		_, err = d.Tree(n)
	case 8:
		_, _, err = m.Runner(n, me())
	case 9:
		err = errors.Join(m.Ask(n, Request{Job: 42, ID: "x", Why: second}), m.Withdraw(n), m.Forget(n))
	case 10:
		_, err = s.Verify(t.Context(), n)
	case 11:
		_, err = s.Manifest(n)
	case 12: // what a manifest of the job's own lists
		err = listed(t, d, s, n)
	}
	return err == nil
}

func closing(d *Dir, err error) error {
	if err == nil {
		d.Close()
	}
	return err
}

// listed makes a checkpoint whose manifest lists the name, and verifies and prunes it.
func listed(t *testing.T, d *Dir, s *Series, n string) error {
	dir, err := d.Make("00000001", 0o755)
	if err != nil {
		return err
	}
	defer dir.Close()
	text, err := json.Marshal(Manifest{Version: Version, Job: job.Job, Token: job.Token, Sequence: 1, Created: noon, GPUs: 1, Files: []File{{Path: n, SHA256: strings.Repeat("0", 64)}}})
	if err != nil {
		return err
	}
	if err := dir.Write(ManifestFile, text, 0o600); err != nil {
		return err
	}
	_, err = s.Verify(t.Context(), "00000001")
	return errors.Join(err, dir.within(n, func(*os.File, os.FileInfo) error { return nil }), dir.removeAt(n), s.discard("00000001"))
}

// Checkpoints are verified, adopted from and pruned while their owner exchanges files
// and folders for links out, pipes, sparse giants and each other: nothing outside is
// opened, read or removed, nothing hangs, and what passes is what was saved.
func TestExchangedWhileVerified(t *testing.T) {
	base := t.TempDir()
	outside := mkdir(t, filepath.Join(base, "outside"))
	put(t, filepath.Join(outside, "model.pt"), "not yours")
	put(t, filepath.Join(outside, "state.bin"), "not yours")
	put(t, filepath.Join(outside, "manifest.json"), "not yours")
	folder := mkdir(t, filepath.Join(base, "checkpoints"))
	s := NewSeries(openDir(t, folder), job)
	for i := range 4 {
		save(t, s, folder, i+1)
	}
	store := mkdir(t, filepath.Join(base, "store"))
	whole := filepath.Join(base, "whole") // nobody exchanges anything there
	if err := os.CopyFS(whole, os.DirFS(filepath.Join(folder, "00000004"))); err != nil {
		t.Fatal(err)
	}
	touched := watch(t, outside)
	var swaps atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		attacker(stop, folder, outside, store, &swaps)
	}()
	verified, refused, pruned := 0, 0, 0
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		c, _, err := s.Newest(t.Context())
		switch {
		case err != nil || c.Name == "":
			refused++
			continue
		case c.Manifest.Sequence != sequenceOf(c.Name) || len(c.Manifest.Files) != 2:
			t.Fatalf("took %+v", c)
		}
		verified++
		if gone, _ := s.Prune(c, 2); len(gone) > 0 {
			pruned += len(gone)
		}
		if tree, err := s.dir.Tree(c.Name); err == nil && len(tree.Entries) > 10 {
			t.Fatalf("a tree of %d files", len(tree.Entries))
		}
		if pruned > 0 && verified%20 == 0 { // there must be something to fight about
			for i := range 3 {
				_ = os.RemoveAll(filepath.Join(folder, Name(i+1)))
				_ = os.CopyFS(filepath.Join(base, "next"), os.DirFS(whole))
				if os.Rename(filepath.Join(base, "next"), filepath.Join(folder, Name(i+1))) != nil {
					_ = os.RemoveAll(filepath.Join(base, "next"))
				}
			}
		}
	}
	close(stop)
	<-done
	if got := touched(); len(got) > 0 {
		t.Errorf("outside was touched: %v", got[:min(len(got), 10)])
	}
	t.Logf("%d exchanges; %d verified, %d refused, %d pruned", swaps.Load(), verified, refused, pruned)
}

// attacker exchanges what is in the checkpoints.
func attacker(stop chan struct{}, folder, outside, store string, swaps *atomic.Int64) {
	kinds := []string{}
	for i, make := range []func(string) error{
		func(p string) error { return os.Symlink(outside, p) },
		func(p string) error { return os.Symlink(filepath.Join(outside, "model.pt"), p) },
		func(p string) error { return os.Symlink("../../outside/state.bin", p) },
		func(p string) error { return syscall.Mkfifo(p, 0o666) },
		func(p string) error { return os.Mkdir(p, 0o755) },
		func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o644), os.Truncate(p, 1<<40)) },
		func(p string) error { return os.Symlink("/", p) },
	} {
		p := filepath.Join(store, strconv.Itoa(i))
		if make(p) == nil {
			kinds = append(kinds, p)
		}
	}
	places := []string{"00000001", "00000002", "00000003", "00000003/optim", "00000002/model.pt", "00000004/model.pt", "00000004/optim", "00000004/manifest.json", "00000001/optim/state.bin", "00000002/manifest.json"}
	for {
		select {
		case <-stop:
			return
		default:
		}
		a, b := filepath.Join(folder, places[rand.IntN(len(places))]), kinds[rand.IntN(len(kinds))]
		if exchange(a, b) == nil {
			swaps.Add(1)
			if exchange(a, b) == nil {
				swaps.Add(1)
			}
		}
	}
}
