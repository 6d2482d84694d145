package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// entry is the state of one process in /proc.
type entry struct {
	parent, group int
	state         byte   // R, S, D, T, Z ...
	threads       int    // threads of it that have not ended
	start         uint64 // clock ticks since boot; with the PID it identifies a process
	name          string // name of its program, at most 15 bytes
	kernel        bool   // a thread of the kernel, which has no program
}

// dead reports whether no thread of a process runs any more. A process whose first thread
// has ended shows as a zombie while its others run on.
func (e entry) dead() bool {
	return e.state == 'X' || (e.state == 'Z' && e.threads <= 1)
}

// processTable is the set of processes at one time, approximately: some may end and
// others start while it is read.
type processTable map[int]entry

// look reads the present process table. Unreadable processes are left out.
func look() processTable {
	entries, _ := os.ReadDir("/proc") // only readable processes can be ended
	c := make(processTable, len(entries))
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if one, ok := see(pid); ok {
				c[pid] = one
			}
		}
	}
	return c
}

// see reads one process.
func see(pid int) (entry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	e, ok := parseStat(stat)
	if ok && strings.HasPrefix(e.name, loader) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // none: the loader's name stays
		e.name = loaded(e.name, strings.Split(string(line), "\x00"))
	}
	return e, ok
}

// loader is the name prefix of the dynamic loader, which can be called with a program of
// another file tree: ld-linux-x86-64.so.2 --library-path DIRS PROGRAM ARGUMENTS.
const loader = "ld-linux"

// loaded is the name of the program that a loader was called with, else the loader's.
func loaded(name string, argv []string) string {
	for i := 1; i < len(argv); i++ {
		switch option, _, joined := strings.Cut(argv[i], "="); {
		case !strings.HasPrefix(option, "--"):
			if base := filepath.Base(option); base != "." {
				return base[:min(len(base), 15)]
			}
			return name
		case !joined && slices.Contains([]string{"--library-path", "--argv0", "--preload", "--audit", "--inhibit-rpath", "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"}, option):
			i++
		}
	}
	return name
}

// children returns the calling process's own children, dead ones too; none if the kernel
// does not list them.
func children() (pids []int) {
	threads, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is well formed
	for _, thread := range threads {
		list, _ := os.ReadFile(thread) // a thread that ended
		for _, word := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// below returns the living descendants of a process, parents before children.
func (c processTable) below(head int) []int {
	children := make(map[int][]int, len(c))
	for pid, e := range c {
		if pid != head {
			children[e.parent] = append(children[e.parent], pid)
		}
	}
	var found []int
	for queue := children[head]; len(queue) > 0; queue = queue[1:] {
		if pid := queue[0]; !c[pid].dead() {
			found = append(found, pid)
		}
		queue = append(queue, children[queue[0]]...)
	}
	return found
}

// Process is one process, for messages.
type Process struct {
	PID   int
	Name  string // of its program
	State byte   // as in /proc: R, S, D, T, Z
}

// String is for example "4711 (python3, hangs in the kernel)".
func (p Process) String() string {
	// The name is chosen by the program and goes to a log.
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(p.Name, "?"))
	if p.State == 'D' {
		return fmt.Sprintf("%d (%s, hangs in the kernel)", p.PID, name)
	}
	return fmt.Sprintf("%d (%s)", p.PID, name)
}

// named formats them as text.
func (c processTable) named(pids []int) []Process {
	var out []Process
	for _, pid := range pids {
		out = append(out, Process{PID: pid, Name: c[pid].name, State: c[pid].state})
	}
	return out
}

// The fields of /proc/PID/stat after the name, counted from the state.
const (
	statState = iota
	statParent
	statGroup
	statFlags   = 6
	statThreads = 17
	statStart   = 19
)

// kernelThread is PF_KTHREAD, a flag of Linux's include/linux/sched.h.
const kernelThread = 0x200000

// parseStat reads a line such as "7 (a) b) S 1 ...": the name in parentheses may contain
// anything.
func parseStat(stat []byte) (entry, bool) {
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if begin < 0 || end < begin {
		return entry{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= statStart || len(fields[statState]) != 1 {
		return entry{}, false
	}
	e := entry{state: fields[statState][0], name: string(stat[begin+1 : end])}
	ok := true
	number := func(field int) int {
		n, err := strconv.Atoi(fields[field])
		ok = ok && err == nil
		return n
	}
	e.parent, e.group, e.threads = number(statParent), number(statGroup), number(statThreads)
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	e.start = start
	flags, _ := strconv.ParseUint(fields[statFlags], 10, 64)
	e.kernel = flags&kernelThread != 0
	return e, ok && err == nil
}

// listens reports whether a process has a handler for the signal or blocks it, as
// processes do that read signals synchronously (srun).
func listens(pid int, s syscall.Signal) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil || s < 1 || s > 64 {
		return false
	}
	return (mask(string(status), "SigCgt:")|mask(string(status), "SigBlk:"))>>(uint(s)-1)&1 == 1
}

// mask reads one hexadecimal set of signals.
func mask(status, field string) uint64 {
	_, rest, found := strings.Cut(status, "\n"+field)
	if !found {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	set, _ := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return set
}
