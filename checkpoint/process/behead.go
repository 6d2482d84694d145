package process

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// Behead ends the descendants that wait for those of a name, which live on as children
// of this process: nothing goes on behind them once they end. The first of them is asked
// by SIGTERM, while the rest stands still; after polite all are killed. It reports
// whether there are any of that name.
func (f *Family) Behead(name string, polite time.Duration) bool {
	c := look()
	heads, any := c.above(name)
	for _, pid := range heads {
		c.signal(pid, syscall.SIGSTOP) // else one would go on behind the next that ends
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
		// Whatever waits for them by now: the first may have started others meanwhile.
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

// above returns the living descendants of this process that are ancestors of one of the
// name, parents before children, and whether there is one.
func (c crowd) above(name string) (heads []int, any bool) {
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
