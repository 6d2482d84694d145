package runner

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// sentry runs beside the loop. The loop reads and writes files, and a file system that
// does not answer blocks it for an unknown time. Meanwhile Slurm may ask the job to end,
// or the script may end, and both must be handled.
type sentry struct {
	turns atomic.Int64                  // of the loop
	child atomic.Pointer[process.Child] // the script whose end the loop has not handled
	waits atomic.Bool                   // the script's end need not be the job's
	tries atomic.Bool                   // nor need its failure be
}

// ListenAlways MUST be called from an init function of a program that calls Run from
// main. The kernel delivers a signal to a program's first thread if it can; if that
// thread hung in a file system, the signal would be delayed with it. So that thread is
// the sentry's, which opens no file.
func ListenAlways() { runtime.LockOSThread() }

// watchOver runs the loop and returns its exit code, or, if it hangs, the exit code with
// which the job must end.
func (r *run) watchOver(signals <-chan os.Signal) int {
	passed, code := make(chan os.Signal, cap(signals)), make(chan int, 1)
	go func() { code <- r.loop(passed) }() // ends with the run, or with the process
	tick := time.NewTicker(r.Stuck / stillLooks)
	defer tick.Stop()
	var last int64
	still, terminated := 0, false
	for {
		select {
		case c := <-code:
			return c
		case s := <-signals:
			terminated = terminated || s == syscall.SIGTERM
			select {
			case passed <- s:
			default: // full: the loop has not read it for a long time
			}
		case <-tick.C:
			if now := r.sentry.turns.Load(); now != last {
				last, still = now, 0
				continue
			}
			if still++; still < stillLooks {
				continue
			}
			if c, over := r.whileHung(still == stillLooks, terminated); over {
				return c
			}
		}
	}
}

// stillLooks is how many consecutive checks must find the loop at the same point.
const stillLooks = 4

// whileHung handles what cannot wait for a loop that hangs, and reports whether the job is
// over.
func (r *run) whileHung(first, terminated bool) (code int, over bool) {
	if first {
		go r.say("a file system does not answer; the job goes on without sluice meanwhile") // the log may be on that file system
	}
	r.family.Thaw()
	child := r.sentry.child.Load()
	if child == nil { // none runs, or the consequence of its end is known
		return stopped, terminated
	}
	if terminated {
		r.passTo(child, syscall.SIGTERM)
	}
	select {
	case <-child.Done():
	default:
		return 0, false
	}
	if (r.sentry.waits.Load() || r.sentry.tries.Load() && child.Exit().Code != 0) && !terminated {
		return 0, false // only the loop knows: it may have to be started again
	}
	r.remains(r.family.KillAll(r.Grace))
	return child.Exit().Code, true
}
