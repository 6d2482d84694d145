package attempts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// Words of the guard to the watch, the first byte of a message. What follows is a number of an error.
const (
	wordListens = 'L' // with the listener
	wordPlain   = 'P' // the filter is there without a listener
	wordFailed  = 'F' // the script was not started
)

// Guard locks the file systems down as far as the kernel can, installs the filter, hands its listener out over a socket,
// and becomes the command. args are what confine.Guarded put behind confine.GuardVerb. It returns only if it cannot, which it tells the watch, too. The
// filter below is installed already, so nothing is allowed meanwhile that is denied later.
func Guard(args []string, env []string) error {
	if len(args) < 3 || args[1] != "--" {
		return errors.New("the guard of a fence is started by 'sluice run' only")
	}
	socket, err := strconv.Atoi(args[0])
	if err != nil || socket < confine.First {
		return fmt.Errorf("%q is no descriptor", args[0])
	}
	unix.CloseOnExec(socket)
	err = guard(socket, args[2:], env)
	say(socket, wordFailed, err)
	return err
}

func guard(socket int, command, env []string) error {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // a filter is one of a thread; the others end when this one becomes the command
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := confine.LockDown(); err != nil {
		return fmt.Errorf("what may be written: %w", err)
	}
	listener, refused := install(confine.Over, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if refused != nil {
		if _, err := install(confine.Alone, 0); err != nil {
			return fmt.Errorf("the filter of system calls: %w", err)
		}
		say(socket, wordPlain, refused)
	} else {
		err := unix.Sendmsg(socket, []byte{wordListens}, unix.UnixRights(listener), nil, 0)
		if err = errors.Join(err, unix.Close(listener)); err != nil {
			return fmt.Errorf("handing the listener out: %w", err)
		}
	}
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, command, env))
}

// say sends a word. If the watch is gone the job is about to end.
func say(socket int, word byte, why error) {
	var number syscall.Errno
	errors.As(why, &number)
	unix.Sendmsg(socket, append([]byte{word}, strconv.Itoa(int(number))...), nil, nil, unix.MSG_NOSIGNAL)
}

// install installs a filter in the calling thread, and returns its listener if flags ask for one.
func install(l confine.Layer, flags uintptr) (int, error) {
	program, err := confine.Filter(runtime.GOARCH, l)
	if err != nil {
		return -1, err
	}
	code := make([]unix.SockFilter, len(program))
	for i, in := range program {
		code[i] = unix.SockFilter{Code: in.Code, Jt: in.JT, Jf: in.JF, K: in.K}
	}
	f := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&f)))
	if failed != 0 {
		return -1, os.NewSyscallError("seccomp", failed)
	}
	return int(fd), nil
}

// Possible reports whether the kernel tells of denied calls at all.
func Possible() bool {
	notice := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&notice)))
	return failed == 0
}
