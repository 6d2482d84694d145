package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Family is the calling process and its descendants. There is one per process: no other
// code in it may start or wait for children.
type Family struct {
	mu       sync.Mutex
	children map[int]*Child
	signals  chan os.Signal
	stopped  chan struct{}
	forks    chan func() // run by the one thread that starts programs
	frost    freezeState
}

// Command is a program to start. Argv[0] is its path, or a name to be looked up in this
// process's PATH.
type Command struct {
	Argv                  []string
	Env                   []string
	Stdin, Stdout, Stderr *os.File   // passed on as they are; nil = /dev/null
	More                  []*os.File // its descriptors from 3 on
}

// Child is a started program, the leader of a process group of its own.
type Child struct {
	PID    int
	family *Family
	done   chan struct{}
	exit   Exit // set before done is closed
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // in the shell's form: 128+n for signal n
	Signal string // the signal's name without SIG; "" if it exited by itself
}

// Found makes the calling process the head of a family. Orphans among its descendants
// become its children instead of init's, so that none is missed.
func Found() (*Family, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("process: adopt orphans: %w", err)
	}
	f := &Family{children: map[int]*Child{}, signals: make(chan os.Signal, 1), stopped: make(chan struct{}), forks: make(chan func())}
	signal.Notify(f.signals, syscall.SIGCHLD)
	go f.reapAlways() // runs for the life of the process; Close ends it
	go f.fork()       // likewise
	return f, nil
}

// Close stops reaping. Programs that still run are killed.
func (f *Family) Close() {
	signal.Stop(f.signals)
	close(f.signals)
	close(f.forks)
	<-f.stopped
}

// fork starts programs, all on one thread that lives as long as the family: the kernel
// ends a program when the thread that started it ends (PDEATHSIG), and every thread ends
// with the process, however that is killed.
func (f *Family) fork() {
	runtime.LockOSThread()
	for start := range f.forks {
		start()
	}
}

func (f *Family) reapAlways() {
	defer close(f.stopped)
	for range f.signals {
		f.reap()
	}
}

// reap collects every child that has ended, and reports whether there are others. One
// SIGCHLD may stand for several.
func (f *Family) reap() bool {
	// The lock is held during the wait as well: a child that ends while it is being
	// started must be registered before it is collected.
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || pid <= 0:
			return err == nil
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

// Start starts a program in its own process group. If this process is killed, so is the
// program, but not what the program started.
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
	attr := &syscall.ProcAttr{Env: c.Env, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	for _, file := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if file == nil {
			file = null
		}
		attr.Files = append(attr.Files, file.Fd())
	}
	for _, file := range c.More {
		attr.Files = append(attr.Files, file.Fd())
	}
	child := &Child{family: f, done: make(chan struct{})}
	started := make(chan error, 1)
	f.forks <- func() { started <- f.launch(child, path, c.Argv, attr) }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return child, nil
}

func (f *Family) launch(child *Child, path string, argv []string, attr *syscall.ProcAttr) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if child.PID, err = syscall.ForkExec(path, argv, attr); err == nil {
		f.children[child.PID] = child
	}
	return err
}

// Done is closed when the program has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how it ended; call it only after Done is closed.
func (c *Child) Exit() Exit { return c.exit }

// Signal sends a signal to the program's whole process group. A group that has ended is
// no error.
func (c *Child) Signal(s syscall.Signal) error {
	c.family.mu.Lock()
	defer c.family.mu.Unlock()
	if c.family.children[c.PID] == c {
		// Not collected yet, and the lock is held: the number has not been reused.
		err := unix.Kill(-c.PID, s)
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return err
	}
	// The number may be another group's by now.
	table := look()
	for _, pid := range table.below(os.Getpid()) {
		if table[pid].group == c.PID {
			table.signal(pid, s)
		}
	}
	return nil
}

// SignalWithin sends a signal into a program that wraps others in a session of their own, as
// bwrap does: to the process groups that its children lead. The program itself gets it if
// there is none yet.
func (c *Child) SignalWithin(s syscall.Signal) error {
	table, found := look(), false
	for pid, e := range table {
		if now, there := see(pid); e.parent == c.PID && e.group == pid && there && now.start == e.start && now.parent == c.PID {
			found = unix.Kill(-pid, s) == nil || found
		}
	}
	if found {
		return nil
	}
	return c.Signal(s)
}

// Instance identifies one process; a later process with the same PID is a different one.
type Instance struct {
	PID   int
	start uint64 // as of entry
}

// Named returns the living descendants of this process whose program has the name,
// truncated to 15 bytes as in the kernel.
func (f *Family) Named(name string) map[Instance]bool {
	found := map[Instance]bool{}
	c := look()
	for _, pid := range c.below(os.Getpid()) {
		if c[pid].name == name {
			found[Instance{pid, c[pid].start}] = true
		}
	}
	return found
}
