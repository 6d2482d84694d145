package process

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signal sends to one process of the crowd, a descendant of this one, if it still
// is the process that was seen. Numbers are used again: neither a stranger that
// got the number of a descendant is hit, nor a child of one that got its parent's.
func (c crowd) signal(pid int, s syscall.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return false
	}
	if err == nil {
		defer unix.Close(fd)
	}
	// Each was there with its parent before its parent is found there still: so
	// that is its parent.
	for p, head := pid, os.Getpid(); p != head; p = c[p].parent {
		seen, known := c[p]
		now, there := see(p)
		if !known || !there || now.start != seen.start || now.parent != seen.parent {
			return false // the next look knows better
		}
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, s, nil, 0) == nil
	}
	return unix.Kill(pid, s) == nil // a kernel before 5.3
}

// killRound is how long to wait between two rounds of killing: a process that
// is forking meanwhile may show its child only in the next.
const killRound = 10 * time.Millisecond

// KillAll kills every descendant, orphans and those that left their group
// included, and returns which were still there after patience: such as hang in
// the kernel, or have become another user's.
func (f *Family) KillAll(patience time.Duration) []Process {
	return f.kill(patience, func(entry) bool { return true })
}

// Drain ends every descendant: all are asked by SIGTERM, those that were stopped
// as well, after polite those that are not called spare are killed, after
// patience the spared as well. It returns as soon as none is left, else which
// are. An srun wants to be spared: the daemons of its step try for seconds to
// reach one that was killed.
func (f *Family) Drain(polite, patience time.Duration, spare string) []Process {
	c := look()
	for _, pid := range c.below(os.Getpid()) {
		c.signal(pid, syscall.SIGTERM)
		c.signal(pid, syscall.SIGCONT)
	}
	f.kill(polite, func(entry) bool { return false })
	f.kill(patience, func(e entry) bool { return e.name != spare })
	return f.KillAll(patience)
}

// kill kills the descendants that doomed picks, round by round, and returns
// which of all descendants are left after patience. None is when this process
// has no child at all: orphans are its children as well.
func (f *Family) kill(patience time.Duration, doomed func(entry) bool) []Process {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		f.hunt(doomed)
		c := look()
		for _, pid := range c.below(os.Getpid()) {
			if doomed(c[pid]) {
				c.signal(pid, syscall.SIGKILL)
			}
		}
		if !f.reap() {
			return nil
		}
		select {
		case <-time.After(killRound):
		case <-over.C:
			return f.left()
		}
	}
}

// hunts bounds a hunt, in looks at the children.
const hunts = 2000

// hunt kills doomed children as long as ever new ones appear: a process that
// forks and goes, and whose child does the same, is no longer there when a look
// at all processes has ended.
func (f *Family) hunt(doomed func(entry) bool) {
	known := map[int]bool{}
	for range hunts {
		fresh := false
		f.mu.Lock() // nothing is collected meanwhile: the numbers are the children's own
		for _, pid := range children() {
			if known[pid] {
				continue
			}
			known[pid] = true
			if e, there := see(pid); there && e.parent == os.Getpid() && !e.dead() && doomed(e) {
				unix.Kill(pid, syscall.SIGKILL)
				fresh = true
			}
		}
		f.mu.Unlock()
		if !fresh {
			return
		}
	}
}

// left names the descendants there are now, or at least a child.
func (f *Family) left() []Process {
	c := look()
	if pids := c.below(os.Getpid()); len(pids) > 0 {
		return c.named(pids)
	}
	if !f.reap() {
		return nil
	}
	return c.named(children())
}

// Tell sends the signal to every descendant that listens for it and returns to
// how many. The others would be killed by it: a shell without a trap, or a
// program that does not know what the signal means here.
func (f *Family) Tell(s syscall.Signal) int {
	told := 0
	c := look()
	for _, pid := range c.below(os.Getpid()) {
		if listens(pid, s) && c.signal(pid, s) {
			told++
		}
	}
	return told
}
