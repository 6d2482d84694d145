package controltest

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// As runs f as another user. The kernel takes the identity of the thread that connects or
// starts a program, so f runs on a thread of its own that ends with it. f MUST NOT start
// goroutines for its work. The test is skipped unless root runs it.
func As(t testing.TB, uid int, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, other users not tested: needs root to become them")
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
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
