package process

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KillStarted kills every process of this user on this node that was started with all of the variables, such as
// "SLUICE_JOB_DIR=/home/ada/x", in its environment, whether or not it is a descendant, and returns those that are
// left after patience. It goes on for watch at least: a step of Slurm whose srun was killed while it was launched
// may still start its processes. This process is spared.
func KillStarted(variables []string, watch, patience time.Duration) []Process {
	over := time.NewTimer(max(watch, patience))
	defer over.Stop()
	for watched := time.Duration(0); ; watched += heldRound {
		c := look()
		var left []int
		for pid, e := range c {
			if pid == os.Getpid() || e.dead() || e.kernel || !mine(pid) || !startedWithAll(pid, variables) {
				continue
			}
			killStarted(pid, variables)
			left = append(left, pid)
		}
		if len(left) == 0 && watched >= watch {
			return nil
		}
		select {
		case <-time.After(heldRound):
		case <-over.C:
			return c.named(left)
		}
	}
}

// mine reports whether a process is of this user.
func mine(pid int) bool {
	var stat syscall.Stat_t
	return syscall.Stat("/proc/"+strconv.Itoa(pid), &stat) == nil && int(stat.Uid) == os.Geteuid()
}

// killStarted kills the process if it is still one that was started with the variables: its number may be another
// process's by now.
func killStarted(pid int, variables []string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended; before Linux 5.3 it is left alone
	}
	defer unix.Close(fd)
	if startedWithAll(pid, variables) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended
	}
}

func startedWithAll(pid int, variables []string) bool {
	for _, v := range variables {
		if !StartedWith(pid, v) {
			return false
		}
	}
	return len(variables) > 0
}
