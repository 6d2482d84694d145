package process

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signal sends to one process of the table, a descendant of this one, if it still is the
// same process. PIDs are reused: neither a foreign process with a descendant's PID is
// signalled, nor the child of a process with a parent's PID.
func (c processTable) signal(pid int, s syscall.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return false
	}
	if err == nil {
		defer unix.Close(fd)
	}
	// The parent is checked after the child: so it is the child's parent.
	for p, head := pid, os.Getpid(); p != head; p = c[p].parent {
		seen, known := c[p]
		now, there := see(p)
		if !known || !there || now.start != seen.start || now.parent != seen.parent {
			return false // the next pass will see it
		}
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, s, nil, 0) == nil
	}
	return unix.Kill(pid, s) == nil // a kernel before 5.3
}

// killRound is the time between two rounds of killing: a process that is forking may show
// its child only in the next round.
const killRound = 10 * time.Millisecond

// KillAll kills every descendant, including orphans and those that left their group, and
// returns those that still exist after patience: they hang in the kernel, or changed
// their user.
func (f *Family) KillAll(patience time.Duration) []Process {
	return f.kill(patience, func(entry) bool { return true })
}

// KillBut kills every descendant but some children and what is below them, and returns what else still
// exists after patience. spared is called in each round; nil, and a child that has ended, spare nothing.
func (f *Family) KillBut(spared func() []*Child, patience time.Duration) []Process {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		c := look()
		kept := map[int]bool{}
		for _, child := range spared() {
			if child == nil || child.Ended() { // its PID may be another process's by now
				continue
			}
			kept[child.PID] = true
			for _, pid := range c.below(child.PID) {
				kept[pid] = true
			}
		}
		var left []int
		for _, pid := range c.below(os.Getpid()) {
			if !kept[pid] {
				c.signal(pid, syscall.SIGKILL)
				left = append(left, pid)
			}
		}
		f.reap()
		if len(left) == 0 {
			return nil
		}
		select {
		case <-time.After(killRound):
		case <-over.C:
			return c.named(left)
		}
	}
}

// Ended reports whether the program has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Drain ends every descendant: all get SIGTERM, stopped ones too; after polite those not
// named spare are killed, after patience the spared as well. It returns as soon as none
// is left, else the remaining ones. srun should be spared: the daemons of its step would
// try for seconds to reach a killed srun.
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

// kill kills the descendants that doomed picks, round by round, and returns which of all
// descendants are left after patience. There are none if this process has no child at
// all: orphans are its children as well.
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

// hunts bounds the passes of a hunt over the children.
const hunts = 2000

// hunt kills doomed children as long as new ones appear: a process that forks and exits,
// and whose child does the same, has already ended when a pass over all processes is
// over.
func (f *Family) hunt(doomed func(entry) bool) {
	known := map[int]bool{}
	for range hunts {
		fresh := false
		f.mu.Lock() // nothing is collected in the meantime: the PIDs are the children's own
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

// left names the present descendants, or at least one child.
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

// Tell sends the signal to every descendant that has a handler for it and returns their
// number. The others would be killed by it: a shell without a trap, or a program that
// does not use the signal.
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
