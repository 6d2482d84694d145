package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// freezes bounds the passes of Freeze: the child of a process that forks in the meantime
// is seen in the next pass.
const freezes = 8

// stillness bounds the time, over all passes, for which Freeze waits until the stopped
// processes are really stopped.
const stillness = 100 * time.Millisecond

// freezeState is the set of processes that Freeze stopped.
type freezeState struct {
	mu      sync.Mutex
	stopped []Instance  // parents before children
	thaw    *time.Timer // nil = nothing is stopped
}

// Freeze stops every descendant by SIGSTOP, and the other processes that also picks,
// until Thaw, but for at most the given time, which holds even if the caller hangs. The
// time counts from the last call. Processes that were stopped before are not changed. If
// the caller is killed it thaws nothing: its own children end with it, and the kernel
// sends SIGHUP and SIGCONT to a stopped process group that thereby loses its last
// ancestor of the session.
func (f *Family) Freeze(most time.Duration, also func(pid int, name string) bool) {
	f.frost.mu.Lock()
	defer f.frost.mu.Unlock()
	if f.frost.thaw != nil {
		f.frost.thaw.Stop()
	}
	f.frost.thaw = time.AfterFunc(most, f.Thaw)
	ctx, done := context.WithTimeout(context.Background(), stillness)
	defer done()
	for range freezes {
		fresh, c := false, look()
		picked := c.below(os.Getpid())
		if also != nil {
			picked = append(picked, c.beside(picked, also)...)
		}
		for _, pid := range picked {
			one := Instance{pid, c[pid].start}
			if c[pid].state == 'T' || slices.Contains(f.frost.stopped, one) || !one.signal(syscall.SIGSTOP) {
				continue
			}
			f.frost.stopped, fresh = append(f.frost.stopped, one), true
		}
		if !fresh {
			return
		}
		f.frost.settle(ctx)
	}
}

// settle waits until the stopped processes no longer run, or ctx ends. A signal is only a
// request: a process in the kernel first completes its rename or fork, and the child of
// such a fork is seen only by a later pass.
func (f *freezeState) settle(ctx context.Context) {
	for slices.ContainsFunc(f.stopped, Instance.moves) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// moves reports whether a thread of it still runs.
func (i Instance) moves() bool {
	if e, there := see(i.PID); !there || e.start != i.start {
		return false
	}
	of := "/proc/" + strconv.Itoa(i.PID) + "/task/"
	threads, _ := os.ReadDir(of) // none: it ended
	return slices.ContainsFunc(threads, func(thread os.DirEntry) bool {
		stat, err := os.ReadFile(of + thread.Name() + "/stat")
		e, ok := parseStat(stat)
		return err == nil && ok && !strings.ContainsRune("TtZX", rune(e.state))
	})
}

// beside returns the picked processes that are neither descendants nor ancestors of this
// process.
func (c processTable) beside(below []int, pick func(pid int, name string) bool) (found []int) {
	above := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !above[pid]; pid = c[pid].parent {
		above[pid] = true
	}
	for pid, e := range c {
		if !above[pid] && !e.dead() && !slices.Contains(below, pid) && pick(pid, e.name) {
			found = append(found, pid)
		}
	}
	return found
}

// Thaw continues what Freeze stopped, children before parents: a shell must not see its
// child stopped.
func (f *Family) Thaw() {
	f.frost.mu.Lock()
	defer f.frost.mu.Unlock()
	if f.frost.thaw == nil {
		return
	}
	f.frost.thaw.Stop()
	for _, one := range slices.Backward(f.frost.stopped) {
		one.signal(syscall.SIGCONT)
	}
	f.frost.thaw, f.frost.stopped = nil, nil
}

// Frozen reports whether Freeze is in effect and its time is not over.
func (f *Family) Frozen() bool {
	f.frost.mu.Lock()
	defer f.frost.mu.Unlock()
	return f.frost.thaw != nil
}

// Writing reports whether a process that Freeze stopped has a file open for writing whose
// path is picked. Only names are read: an access to a file might hang on a file system
// that does not answer. A process that cannot be examined counts as writing.
func (f *Family) Writing(pick func(path string) bool) bool {
	f.frost.mu.Lock()
	stopped := slices.Clone(f.frost.stopped)
	f.frost.mu.Unlock()
	return slices.ContainsFunc(stopped, func(one Instance) bool { return one.writes(pick) })
}

func (i Instance) writes(pick func(path string) bool) bool {
	of := "/proc/" + strconv.Itoa(i.PID)
	entries, err := os.ReadDir(of + "/fd")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH)
	}
	for _, entry := range entries {
		path, err := os.Readlink(of + "/fd/" + entry.Name())
		if err != nil || !pick(path) {
			continue
		}
		info, err := os.ReadFile(of + "/fdinfo/" + entry.Name())
		if err != nil || writable(string(info)) {
			return true
		}
	}
	return false
}

// writable reads the flags of an open file from fdinfo; unreadable flags count as
// writable.
func writable(info string) bool {
	for line := range strings.SplitSeq(info, "\n") {
		if text, is := strings.CutPrefix(line, "flags:"); is {
			flags, err := strconv.ParseUint(strings.TrimSpace(text), 8, 64)
			return err != nil || flags&syscall.O_ACCMODE != syscall.O_RDONLY
		}
	}
	return true
}

// signal sends to this process, not to a later one with the same PID.
func (i Instance) signal(s syscall.Signal) bool {
	fd, err := unix.PidfdOpen(i.PID, 0)
	if err == unix.ESRCH {
		return false
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if e, there := see(i.PID); !there || e.start != i.start {
		return false
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, s, nil, 0) == nil
	}
	return unix.Kill(i.PID, s) == nil // a kernel before 5.3
}
