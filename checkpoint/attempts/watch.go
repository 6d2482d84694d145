package attempts

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// Watch is the side outside of one start in a fence.
type Watch struct {
	ours   int
	theirs *os.File
	said   chan word // the guard's first word, and that the script was not started; closed by serve
	ends   atomic.Bool
}

// word is what the guard said.
type word struct {
	is  byte
	why syscall.Errno
}

// Began says how a start began.
type Began struct {
	Started bool // the script was started, or may have been
	Counted bool // its denied calls are counted
}

// New makes a watch. Inside MUST be passed to the fence and closed, and Serve started.
func New() (*Watch, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("a socket to the fence: %w", err)
	}
	return &Watch{ours: pair[0], theirs: os.NewFile(uintptr(pair[1]), "guard"), said: make(chan word, 2)}, nil
}

// Inside is the guard's end of the socket.
func (w *Watch) Inside() *os.File { return w.theirs }

// idle is how long a wait for a notice lasts at most. Linux before 5.9 does not say when nothing can come any more.
const idle = time.Second

// Serve answers and counts until nothing inside can call any more, or End is called. seen MUST NOT wait for a
// disk or for anything else: the process that called waits for it.
func (w *Watch) Serve(seen func(call, process string)) {
	listener := -1
	defer func() {
		for try := 0; w.ours >= 0 && try < 4; try++ { // what was said just before the end
			if fd, more := w.hear(); fd >= 0 {
				unix.Close(fd)
			} else if !more {
				break
			}
		}
		close(w.said)
		for _, fd := range []int{w.ours, listener} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	}()
	for !w.ends.Load() && (w.ours >= 0 || listener >= 0) {
		fds := []unix.PollFd{{Fd: int32(w.ours), Events: unix.POLLIN}, {Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, int(idle/time.Millisecond)); err != nil {
			continue // a signal
		}
		if fds[0].Revents != 0 {
			fd, more := w.hear()
			if fd >= 0 && listener < 0 {
				listener = fd
			}
			if !more {
				unix.Close(w.ours)
				w.ours = -1
			}
		}
		if is := fds[1].Revents; is&unix.POLLIN != 0 && !answer(listener, seen) || is != 0 && is&unix.POLLIN == 0 {
			unix.Close(listener)
			listener = -1
		}
	}
}

// hear takes a word of the guard, and the listener if it comes with it. more: the socket is still open.
func (w *Watch) hear() (listener int, more bool) {
	text, rights := make([]byte, 32), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := unix.Recvmsg(w.ours, text, rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err == unix.EAGAIN || err == unix.EINTR {
		return -1, true
	}
	if err != nil || n == 0 {
		return -1, false
	}
	listener = -1
	if messages, err := unix.ParseSocketControlMessage(rights[:size]); err == nil && len(messages) == 1 {
		if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
			listener = fds[0]
		}
	}
	said := word{is: text[0]}
	fmt.Sscan(string(text[1:n]), &said.why)
	select {
	case w.said <- said:
	default: // it says two words at most
	}
	return listener, true
}

// Ended returns how the start began, once it has ended. It waits until late at most.
func (w *Watch) Ended(late time.Duration) Began {
	w.ends.Store(true)
	var b Began
	timeout := time.After(late)
	for {
		select {
		case said, open := <-w.said:
			switch {
			case !open:
				return b
			case said.is == wordListens:
				b = Began{Started: true, Counted: true}
			case said.is == wordPlain:
				b = Began{Started: true}
			default:
				return Began{}
			}
		case <-timeout:
			return b
		}
	}
}

// isValid is SECCOMP_IOCTL_NOTIF_ID_VALID with the number that it had in Linux 5.0, which later ones know as well.
const isValid = 0x80082102

// Where the fields of a notice are.
const (
	room     = 1024 // bytes, more than the kernel's 80
	atID     = 0
	atPID    = 8
	atNumber = 16
	atArgs   = 32
)

// answer answers one notice with the error of the call. false: the listener is of no use any more.
func answer(listener int, seen func(call, process string)) bool {
	notice := make([]byte, room)
	if e := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, notice); e != 0 {
		return e == unix.EINTR || e == unix.ENOENT || e == unix.EAGAIN // the caller was interrupted, or has ended
	}
	order := binary.NativeEndian
	id := notice[atID : atID+8]
	var args [6]uint64
	for i := range args {
		args[i] = order.Uint64(notice[atArgs+8*i:])
	}
	call, failure := confine.Denied(runtime.GOARCH, int32(order.Uint32(notice[atNumber:])), args)
	process := nameOf(order.Uint32(notice[atPID:]))
	if control(listener, isValid, append([]byte(nil), id...)) != 0 {
		process = "" // it has ended: the number may be another's by now
	}
	seen(call, process)                                                   // BEFORE the answer: what has ended is counted
	control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, denial(id, failure)) // fails if the process has ended
	return true
}

// denial is an answer: its id, the value 0, the error, and no flags. One of the flags would let the call through.
func denial(id []byte, e syscall.Errno) []byte {
	out := make([]byte, room)
	copy(out, id)
	binary.NativeEndian.PutUint32(out[16:], uint32(-int32(e)))
	return out
}

func control(listener int, request uintptr, data []byte) syscall.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), request, uintptr(unsafe.Pointer(&data[0])))
	return e
}

// nameOf is the kernel's name of a thread; "" if it is not known.
func nameOf(thread uint32) string {
	if thread == 0 {
		return ""
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", thread))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}
