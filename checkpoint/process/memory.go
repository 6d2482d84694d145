package process

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Cgroups is the mount point of control groups.
const Cgroups = "/sys/fs/cgroup"

// maxGroups bounds the walk through the control groups of a job.
const maxGroups = 1000

// OOMKills counts the processes that the kernel killed because the memory of this
// process's Slurm job, or else of its own control group, was used up. known is false if
// the memory is not bounded by a readable control group. mount is Cgroups.
func OOMKills(mount string) (count int, known bool) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	folder, file := memoryGroup(string(data))
	if folder == "" {
		return 0, false
	}
	return countKills(filepath.Join(mount, folder), file)
}

// memoryGroup returns the path of the control group that counts a process's memory, below
// the mount point, and the file with the count, from the contents of /proc/PID/cgroup.
func memoryGroup(cgroups string) (folder, file string) {
	for line := range strings.Lines(cgroups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		own := jobGroup(path.Clean(fields[2]))
		if own == "/" {
			continue // the whole machine
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			if controller == "memory" { // version 1, which takes precedence if both exist
				return "memory" + own, "memory.oom_control"
			}
		}
		if fields[0] == "0" {
			folder, file = own, "memory.events"
		}
	}
	return folder, file
}

// jobGroup returns the group of the Slurm job that a group belongs to, else the group
// itself.
func jobGroup(group string) string {
	for g := group; g != "/" && g != "."; g = path.Dir(g) {
		if strings.HasPrefix(path.Base(g), "job_") {
			return g
		}
	}
	return group
}

// countKills adds up a group's count. In version 1 the groups below have separate counts;
// in version 2 the group's count includes them.
func countKills(folder, file string) (count int, known bool) {
	groups := 0
	filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if groups++; err != nil || groups > maxGroups {
			return fs.SkipAll
		}
		if !entry.IsDir() {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(name, file))
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, bad := strconv.Atoi(value); key == "oom_kill" && bad == nil {
				count, known = count+n, true
			}
		}
		if err == nil && file == "memory.events" {
			return fs.SkipAll
		}
		return nil
	})
	return count, known
}
