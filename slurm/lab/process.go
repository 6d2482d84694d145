package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is one entry of /proc. The pair of PID and start is never reused.
type process struct {
	pid, ppid int
	start     uint64 // clock ticks since boot
	zombie    bool   // ended, not yet waited for by its parent
	args      []string
}

// parseStat reads /proc/PID/stat. The second field is the program's name in parentheses,
// which may itself contain blanks and parentheses.
func parseStat(text string) (process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return process{}, fmt.Errorf("unreadable stat %q", text)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	rest := strings.Fields(text[end+1:]) // from field 3, the state
	if err != nil || len(rest) < 20 {
		return process{}, fmt.Errorf("unreadable stat %q", text)
	}
	ppid, err := strconv.Atoi(rest[1])
	start, err2 := strconv.ParseUint(rest[19], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return process{}, fmt.Errorf("unreadable stat %q: %w", text, err)
	}
	dead := rest[0] == "Z" || rest[0] == "X"
	return process{pid: pid, ppid: ppid, start: start, zombie: dead}, nil
}

// readProcess reads one process; ok is false when there is none.
func readProcess(pid int) (p process, ok bool) {
	dir := procDir(pid)
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return process{}, false
	}
	if p, err = parseStat(string(stat)); err != nil {
		return process{}, false
	}
	p.args = zeroSeparated(filepath.Join(dir, "cmdline"))
	return p, true
}

func procDir(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

// zeroSeparated reads cmdline or environ; nil when it may not be read.
func zeroSeparated(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var words []string
	for word := range bytes.SplitSeq(text, []byte{0}) {
		if len(word) > 0 {
			words = append(words, string(word))
		}
	}
	return words
}

// processes reads all processes of the machine that have not ended.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok && !p.zombie {
			list = append(list, p)
		}
	}
	return list, nil
}

// environ returns the environment the process was started with.
func (p process) environ() []string { return zeroSeparated(filepath.Join(procDir(p.pid), "environ")) }

// cwd returns the working directory; "" when it may not be read.
func (p process) cwd() string {
	dir, _ := os.Readlink(filepath.Join(procDir(p.pid), "cwd"))
	return dir
}

// files returns what the process has open.
func (p process) files() []string {
	dir := filepath.Join(procDir(p.pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			list = append(list, target)
		}
	}
	return list
}

// alive reports whether this process, not one with its reused PID, still runs.
func (p process) alive() bool {
	now, ok := readProcess(p.pid)
	return ok && !now.zombie && now.start == p.start
}

// signal sends a signal to this process. The pidfd is opened first, then the start times
// are compared; so the signal cannot reach a process that got the PID since. A process
// that has ended is no error.
func (p process) signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return nil
	}
	defer handle.Release()
	if !p.alive() {
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to %d: %w", sig, p.pid, err)
	}
	return nil
}
