package process

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// guardPause is how often an ancestor is checked if the kernel cannot report its end.
const guardPause = time.Second

// Orphaned returns a channel that closes when the nearest picked ancestor has ended, for
// whatever reason; nil, which never closes, if there is none.
func Orphaned(pick func(pid int, name string) bool) <-chan struct{} {
	pid := os.Getppid()
	for depth := 0; pid > 1 && depth < 1000; depth++ {
		e, there := see(pid)
		if !there {
			return nil
		}
		if pick(pid, e.name) {
			return end(pid, e.start)
		}
		pid = e.parent
	}
	return nil
}

// end returns a channel that closes when a process has ended.
func end(pid int, start uint64) <-chan struct{} {
	over := make(chan struct{})
	fd, err := unix.PidfdOpen(pid, 0)
	same := func() bool {
		e, there := see(pid)
		return there && e.start == start && !e.dead()
	}
	go func() { // ends with that process, or with this one
		defer close(over)
		if err == nil {
			defer unix.Close(fd)
		}
		for same() {
			if err != nil {
				time.Sleep(guardPause)
				continue
			}
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) // EINTR: try again
		}
	}()
	return over
}
