package process

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// Behead ends the descendants that wait for processes of the given name, which go on as
// children of this process, so that nothing continues after those end. The first of them
// gets SIGTERM while the rest is stopped; after polite all are killed. It reports whether
// there are any processes of that name.
func (f *Family) Behead(name string, polite time.Duration) bool {
	c := look()
	heads, any := c.above(name)
	for _, pid := range heads {
		c.signal(pid, syscall.SIGSTOP) // otherwise one would go on after the next that ends
	}
	for _, pid := range heads {
		if !slices.Contains(heads, c[pid].parent) {
			c.signal(pid, syscall.SIGTERM)
			c.signal(pid, syscall.SIGCONT)
		}
	}
	for round := time.Duration(0); len(heads) > 0 && round*killRound < 2*polite; round++ {
		time.Sleep(killRound)
		f.reap()
		c = look()
		// The processes that wait for them by now: the first may have started others.
		heads, _ = c.above(name)
		if round*killRound < polite {
			continue
		}
		for _, pid := range heads {
			c.signal(pid, syscall.SIGKILL)
		}
	}
	return any
}

// above returns the living descendants of this process that are ancestors of a process of
// the name, parents before children, and whether there is one.
func (c processTable) above(name string) (heads []int, any bool) {
	below := c.below(os.Getpid())
	waits := map[int]bool{}
	for _, pid := range below {
		if c[pid].name != name {
			continue
		}
		any = true
		for p := c[pid].parent; p != os.Getpid() && p > 1; p = c[p].parent {
			waits[p] = c[p].name != name
		}
	}
	for _, pid := range below {
		if waits[pid] {
			heads = append(heads, pid)
		}
	}
	return heads, any
}
