package process

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Holder is a process that has a device file open.
type Holder struct {
	Process
	File string // as given by the caller
}

// heldRound is the time between two checks of who holds a file.
const heldRound = 50 * time.Millisecond

// Released waits until no picked process holds one of the device files open, for at most
// patience, and returns those that still do, by their numbers. A missing file is held by
// no process; this process is ignored. Processes of other users cannot be examined.
func Released(files []string, patience time.Duration, pick func(pid int) bool) []Holder {
	devices := devicesOf(files)
	if len(devices) == 0 {
		return nil
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		held := holders(devices, pick)
		if len(held) == 0 {
			return nil
		}
		select {
		case <-time.After(heldRound):
		case <-over.C:
			return held
		}
	}
}

// device is a device file.
type device struct {
	path string
	stat syscall.Stat_t
}

func devicesOf(files []string) (found []device) {
	for _, file := range files {
		d := device{path: file}
		if err := syscall.Stat(file, &d.stat); err == nil && d.stat.Mode&syscall.S_IFMT == syscall.S_IFCHR {
			found = append(found, d)
		}
	}
	return found
}

// memoryMajor is the major number of /dev/null and similar devices, which replace GPUs in
// a lab: with it the number does not identify a device.
const memoryMajor = 1

// is reports whether an open file is the device: the same file, or the same device by
// another file, as in a container.
func (d device) is(open syscall.Stat_t) bool {
	if open.Mode&syscall.S_IFMT != syscall.S_IFCHR {
		return false
	}
	return (open.Dev == d.stat.Dev && open.Ino == d.stat.Ino) || (open.Rdev == d.stat.Rdev && unix.Major(open.Rdev) != memoryMajor)
}

// holders examines every process once.
func holders(devices []device, pick func(pid int) bool) []Holder {
	var found []Holder
	c := look()
	for pid, e := range c {
		if pid == os.Getpid() || e.dead() {
			continue
		}
		if d, holds := opened(pid, devices); holds && pick(pid) {
			found = append(found, Holder{Process{PID: pid, Name: e.name, State: e.state}, d.path})
		}
	}
	slices.SortFunc(found, func(a, b Holder) int { return a.PID - b.PID })
	return found
}

// opened returns the first of the devices that a process has open. Only files with a
// device's name are examined: an access to any other might hang on a file system that
// does not answer.
func opened(pid int, devices []device) (device, bool) {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(folder) // another user's, or ended
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		target, err := os.Readlink(file)
		if err != nil {
			continue
		}
		for _, d := range devices {
			var stat syscall.Stat_t
			if filepath.Base(target) == filepath.Base(d.path) && syscall.Stat(file, &stat) == nil && d.is(stat) {
				return d, true
			}
		}
	}
	return device{}, false
}

// maxEnviron is how much of a process's environment is read, in bytes.
const maxEnviron = 4 << 20

// StartedWith reports whether a process was started with the variable, such as
// "SLURM_JOB_ID=42", in its environment. If the environment cannot be read the answer is
// no.
func StartedWith(pid int, variable string) bool {
	for entry := range bytes.SplitSeq(environ(pid), []byte{0}) {
		if variable != "" && string(entry) == variable {
			return true
		}
	}
	return false
}

// execTakes bounds the duration of an exec, in milliseconds.
const execTakes = 20

// environ returns the environment with which a process was started. During an exec the
// kernel shows an empty one, so an empty environment is accepted only after a while.
func environ(pid int) (data []byte) {
	for range execTakes {
		f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil {
			return nil
		}
		data, err = io.ReadAll(io.LimitReader(f, maxEnviron))
		f.Close()
		switch {
		case err != nil:
			return nil
		case len(data) > 0:
			return data
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
