package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Family is the calling process and its descendants. There is one a process:
// nothing else in it may start or wait for children.
type Family struct {
	mu       sync.Mutex
	children map[int]*Child
	signals  chan os.Signal
	stopped  chan struct{}
}

// Command is a program to start. Argv[0] is its path, or a name to be looked up
// in this process's PATH.
type Command struct {
	Argv                  []string
	Env                   []string
	Stdin, Stdout, Stderr *os.File // passed on as they are; nil = /dev/null
}

// Child is a started program, the leader of a process group of its own.
type Child struct {
	PID  int
	done chan struct{}
	exit Exit // set before done is closed
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // as a shell counts: 128+n for signal n
	Signal string // the signal's name without SIG; "" when it exited by itself
}

// Found makes the calling process a family's head. Orphans of its descendants
// become its children instead of init's, so that none slips away.
func Found() (*Family, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("process: adopt orphans: %w", err)
	}
	f := &Family{children: map[int]*Child{}, signals: make(chan os.Signal, 1), stopped: make(chan struct{})}
	signal.Notify(f.signals, syscall.SIGCHLD)
	go f.reapAlways() // for the life of the process; Close ends it
	return f, nil
}

// Close stops reaping.
func (f *Family) Close() {
	signal.Stop(f.signals)
	close(f.signals)
	<-f.stopped
}

func (f *Family) reapAlways() {
	defer close(f.stopped)
	for range f.signals {
		f.reap()
	}
}

// reap collects every child that has ended. One SIGCHLD may stand for several.
func (f *Family) reap() {
	// Held around the wait as well: a child that ends while it is being started
	// must be known before it is collected.
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || pid <= 0:
			return
		}
		if c := f.children[pid]; c != nil {
			delete(f.children, pid)
			c.exit = exitOf(status)
			close(c.done)
		}
	}
}

func exitOf(s unix.WaitStatus) Exit {
	if s.Signaled() {
		return Exit{Code: 128 + int(s.Signal()), Signal: SignalName(s.Signal())}
	}
	return Exit{Code: s.ExitStatus()}
}

// SignalName is the signal's name without SIG.
func SignalName(s syscall.Signal) string {
	name := unix.SignalName(s)
	if len(name) > 3 && name[:3] == "SIG" {
		return name[3:]
	}
	return fmt.Sprintf("%d", int(s))
}

// Start starts a program in a process group of its own.
func (f *Family) Start(c Command) (*Child, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("process: nothing to start")
	}
	path, err := exec.LookPath(c.Argv[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	attr := &syscall.ProcAttr{Env: c.Env, Sys: &syscall.SysProcAttr{Setpgid: true}}
	for _, file := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if file == nil {
			file = null
		}
		attr.Files = append(attr.Files, file.Fd())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	pid, err := syscall.ForkExec(path, c.Argv, attr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	child := &Child{PID: pid, done: make(chan struct{})}
	f.children[pid] = child
	return child, nil
}

// Done is closed when the program has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how it ended; only after Done.
func (c *Child) Exit() Exit { return c.exit }

// Signal sends to the program's whole process group. One that is gone is no
// error.
func (c *Child) Signal(s syscall.Signal) error {
	if err := unix.Kill(-c.PID, s); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// killRound is how long to wait between two rounds of killing: a process that
// is forking meanwhile may show its child only in the next.
const killRound = 10 * time.Millisecond

// KillAll kills every descendant, orphans and those that left their group
// included, and returns how many were still there after patience: such as hang
// in the kernel.
func (f *Family) KillAll(patience time.Duration) int {
	return f.kill(patience, func(int) bool { return true })
}

// Drain ends every descendant: all are asked by SIGTERM, after polite those that
// are not called spare are killed, after patience the spared as well. It returns
// as soon as none is left, else how many are. An srun wants to be spared: the
// daemons of its step try for seconds to reach one that was killed.
func (f *Family) Drain(polite, patience time.Duration, spare string) int {
	for _, pid := range descendants(os.Getpid()) {
		unix.Kill(pid, unix.SIGTERM)
	}
	f.kill(polite, func(int) bool { return false })
	f.kill(patience, func(pid int) bool { return nameOf(pid) != spare })
	return f.KillAll(patience)
}

// kill kills the descendants that doomed picks, round by round, and returns how
// many of all descendants are left after patience.
func (f *Family) kill(patience time.Duration, doomed func(pid int) bool) int {
	for range max(1, int(patience/killRound)) {
		left := descendants(os.Getpid())
		if len(left) == 0 {
			return 0
		}
		for _, pid := range left {
			if doomed(pid) {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		time.Sleep(killRound)
		f.reap()
	}
	return len(descendants(os.Getpid()))
}

// Tell sends the signal to every descendant that listens for it and returns to
// how many. The others would be killed by it: a shell without a trap, or a
// program that does not know what the signal means here.
func (f *Family) Tell(s syscall.Signal) int {
	told := 0
	for _, pid := range descendants(os.Getpid()) {
		if listens(pid, s) && unix.Kill(pid, s) == nil {
			told++
		}
	}
	return told
}
