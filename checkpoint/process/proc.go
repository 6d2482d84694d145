package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// descendants returns the living descendants of a process, zombies left out.
func descendants(of int) []int {
	children := map[int][]int{}
	dead := map[int]bool{}
	entries, _ := os.ReadDir("/proc") // what can be read is what there is to end
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		if state, parent, ok := parseStat(stat); ok {
			children[parent] = append(children[parent], pid)
			dead[pid] = state == 'Z' || state == 'X'
		}
	}
	var found []int
	for queue := children[of]; len(queue) > 0; queue = queue[1:] {
		if pid := queue[0]; !dead[pid] {
			found = append(found, pid)
		}
		queue = append(queue, children[queue[0]]...)
	}
	return found
}

// nameOf returns the name of a process's program, at most 15 bytes; "" when it
// is gone.
func nameOf(pid int) string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// parseStat reads state and parent from a line such as "7 (a) b) S 1 ...": the
// name in brackets may hold anything.
func parseStat(stat []byte) (state byte, parent int, ok bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 || len(fields[0]) != 1 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return fields[0][0], parent, err == nil
}

// listens reports whether a process has a handler for the signal or blocks it,
// as those do that take signals one by one (srun).
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
