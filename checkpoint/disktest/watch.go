package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Call is one system call that would change a file or a folder.
type Call struct {
	Kind string // write, sync, cut, create, open, read, remove, rename, link, mkdir, other
	File string // its path; for a link: the new name
	To   string // for a rename
	At   int64  // for a write: its offset; for a cut: the new size
	Data []byte // for a write
}

// mutators are the system calls by which Go and SQLite change files. Shared memory is
// changed without any; it has no effect after a power loss.
var mutators = map[int32]string{
	unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "write", unix.SYS_FSYNC: "sync", unix.SYS_FDATASYNC: "sync",
	unix.SYS_FTRUNCATE: "cut", unix.SYS_OPENAT: "openat", unix.SYS_MKDIRAT: "mkdirat", unix.SYS_UNLINKAT: "unlinkat",
	unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat", unix.SYS_FCHMOD: "other", unix.SYS_FCHOWN: "other",
	unix.SYS_FCHMODAT: "chmodat", unix.SYS_FALLOCATE: "other", unix.SYS_LINKAT: "linkat",
}

// Watch calls Seen for every such call below Root, a path without links, before it is
// carried out. If Seen returns a value other than 0, that is the call's result. The
// kernel intercepts the calls (seccomp), for one thread: real programs and the real file
// system are tested, without root or a special file system.
type Watch struct {
	Root string
	Seen func(Call) unix.Errno
	// Reads also reports what is opened for reading only, as "read".
	Reads bool
}

// notice and answer are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notice struct {
	id     uint64
	pid    uint32
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// Do runs f on its own thread under the watch; if the kernel cannot watch, the test is
// skipped. f MUST stay on its thread: it must not pass a cancellable context to
// database/sql, whose driver would change the thread.
func (w *Watch) Do(t *testing.T, f func()) {
	t.Helper()
	type start struct {
		listener int
		err      error
	}
	started, done := make(chan start), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its filter
		listener, err := listen()
		started <- start{listener, err}
		if err == nil {
			f()
		}
	}()
	s := <-started
	if s.err != nil {
		t.Skipf("SKIPPED, faults in system calls not tested: this kernel or container does not let a thread watch its own: %v", s.err)
	}
	defer unix.Close(s.listener)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	go func() { <-done; unix.Close(pipe[1]) }()
	w.serve(t, s.listener, pipe[0])
	<-done
}

// listen installs the filter on the calling thread and returns the descriptor on which
// its calls are reported.
func listen() (int, error) {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	program := []unix.SockFilter{load(0)}
	for number := range mutators {
		if number == unix.SYS_WRITE {
			continue
		}
		program = append(program, equal(uint32(number), 0, 1), give(unix.SECCOMP_RET_USER_NOTIF))
	}
	// Go's scheduler writes to its own descriptor, and must not be delayed.
	program = append(program, equal(unix.SYS_WRITE, 1, 0), give(unix.SECCOMP_RET_ALLOW), load(16),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: uint32(schedulers()), Jt: 0, Jf: 1},
		give(unix.SECCOMP_RET_USER_NOTIF), give(unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// schedulers returns the highest descriptor that Go's scheduler, or the test's
// output, may write to.
func schedulers() int {
	highest := 2
	for fd := range 64 {
		if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && strings.HasPrefix(to, "anon_inode:[event") {
			highest = fd
		}
	}
	return highest
}

// serve answers until over is closed at its other end.
func (w *Watch) serve(t *testing.T, listener, over int) {
	var again *notice // interrupted, and repeated
	var verdict unix.Errno
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(over), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		}
		if poll[1].Revents != 0 {
			return
		}
		var n notice
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // it was interrupted in between
		}
		if again == nil || again.number != n.number || again.args != n.args {
			verdict = 0
			if c, ok := w.read(t, n); ok {
				verdict = w.Seen(c)
			}
		}
		again = nil
		a := answer{id: n.id, errno: -int32(verdict)}
		if verdict == 0 {
			a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a))); errno != 0 {
			again = &n
		}
	}
}

// read describes a call; ok is false if it is outside the root, or would change nothing.
func (w *Watch) read(t *testing.T, n notice) (c Call, ok bool) {
	c.Kind = mutators[n.number]
	switch c.Kind {
	case "write", "sync", "cut", "other":
		c.File, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", n.args[0]))
	case "openat", "mkdirat", "unlinkat", "renameat", "chmodat":
		c.Kind = strings.TrimSuffix(c.Kind, "at")
		c.File = below(n.args[0], text(t, n.args[1]))
	case "linkat":
		c.Kind, c.File = "link", below(n.args[2], text(t, n.args[3]))
	default: // the old forms without a directory descriptor
		c.File = text(t, n.args[0])
	}
	if !strings.HasPrefix(c.File, w.Root) {
		return c, false
	}
	_, err := os.Lstat(c.File)
	there := err == nil
	switch c.Kind {
	case "open":
		if n.args[2]&unix.O_ACCMODE == unix.O_RDONLY {
			c.Kind = "read"
			return c, w.Reads
		}
		if !there && n.args[2]&unix.O_CREAT != 0 {
			c.Kind = "create"
		}
	case "write":
		c.At, c.Data = int64(n.args[3]), memory(t, n.args[1], int(n.args[2]))
		if n.number == unix.SYS_WRITE {
			c.At, _ = unix.Seek(int(n.args[0]), 0, unix.SEEK_CUR)
		}
	case "cut":
		c.At = int64(n.args[1])
	case "rename":
		c.To = below(n.args[2], text(t, n.args[3]))
		return c, there
	case "unlink":
		c.Kind = "remove"
		return c, there
	case "mkdir":
		return c, !there
	}
	return c, true
}

// memory reads this process's memory at an address in a system call.
func memory(t *testing.T, at uint64, size int) []byte {
	out := make([]byte, size)
	if size == 0 {
		return out
	}
	n, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &out[0], Len: uint64(size)}},
		[]unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
	if err != nil || n != size {
		t.Errorf("reading what a system call points to: %d of %d bytes, %v", n, size, err)
	}
	return out
}

// text reads a path, up to its end, and never beyond a page boundary.
func text(t *testing.T, at uint64) string {
	var out []byte
	for len(out) < unix.PathMax {
		size := 4096 - int(at%4096)
		out = append(out, memory(t, at, size)...)
		if end := bytes.IndexByte(out, 0); end >= 0 {
			return filepath.Clean(string(out[:end]))
		}
		at += uint64(size)
	}
	return ""
}

// below returns the path relative to the folder of that descriptor.
func below(folder uint64, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	at, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", int32(folder)))
	return filepath.Join(at, path)
}

// Scratch returns a folder in memory if there is one: power loss is simulated there, and
// writes need not wait for a disk.
func Scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sluice-disktest-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
