package controltest

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// As runs f as another user: the kernel takes the identity of the thread that
// connects or starts a program, so this takes a thread that is thrown away
// afterwards. f must do its work in its own goroutine. The test is skipped
// unless root runs it.
func As(t testing.TB, uid int, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			done <- e
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
