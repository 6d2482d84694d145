package main_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"
)

// canaries are files of the victim's outside of every job's folder. Whoever reads,
// writes, moves or removes one is told of by the kernel.
type canaries struct {
	dir string
	fd  int
}

const canarySong = "nobody but the victim has any business here\n"

func newCanaries(t *testing.T, dir string, uid, gid int) *canaries {
	t.Helper()
	c := &canaries{dir: dir}
	var err error
	if err = os.Mkdir(dir, 0o755); err == nil {
		c.fd, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(c.fd) })
	for name, perm := range map[string]os.FileMode{"open": 0o644, "secret": 0o600} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(canarySong), perm); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.InotifyAddWatch(c.fd, path, unix.IN_ACCESS|unix.IN_MODIFY|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// touched lists what was done to them.
func (c *canaries) touched() []string {
	var out []string
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(c.fd, buffer)
		if n <= 0 || err != nil {
			return out
		}
		for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			out = append(out, fmt.Sprintf("inotify %#x", binary.NativeEndian.Uint32(rest[4:])))
			rest = rest[unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(rest[12:])):]
		}
	}
}

// check demands that they are as they were and that nobody read them.
func (c *canaries) check(t *testing.T) {
	t.Helper()
	if done := c.touched(); len(done) > 0 {
		t.Errorf("the canaries were touched: %v", done)
	}
	for _, name := range []string{"open", "secret"} {
		if b, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(b) != canarySong {
			t.Errorf("canary %s: %q, %v", name, b, err)
		}
	}
	if got := c.touched(); len(got) == 0 {
		t.Error("the canaries are dead: they did not hear that they were read just now")
	}
}

// evil says what of a text a terminal would act upon.
func evil(text string) string {
	for i, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar) {
			return fmt.Sprintf("%q in %q", r, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	return ""
}

// vitals are what a process takes of the machine.
type vitals struct {
	peakMB, fds int
}

func vitalsOf(t *testing.T, pid int) vitals {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var v vitals
	for _, line := range strings.Split(string(status), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, _ := strconv.Atoi(f[1])
			v.peakMB = kb >> 10
		}
	}
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	v.fds = len(names)
	return v
}

// terminal opens a pseudo-terminal: what a user sees is written to the second file
// and read from the first.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("SKIPPED, no terminal here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}
