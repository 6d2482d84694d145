package confine

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Machine is what a fence shows of the machine on which it is built.
type Machine struct {
	Shown []Entry
	// Masked are files below what is shown that are covered: the commands of Slurm, of
	// munge, and those that start a program later or send mail. srun is replaced.
	Masked []string
}

// Entry is a folder or file that is shown at its own path. Link is the target if it is a
// symbolic link into another entry.
type Entry struct{ Path, Link string }

// Look finds out what exists of a fence's system and software.
func Look(f Fence) Machine {
	var m Machine
	all := slices.Concat(f.System, f.Software)
	seen := map[string]bool{}
	for _, p := range all {
		real, err := filepath.EvalSymlinks(p)
		if err != nil || seen[p] {
			continue
		}
		seen[p] = true
		e := Entry{Path: p}
		if target, err := os.Readlink(p); err == nil && slices.ContainsFunc(all, func(o string) bool { return o != p && within(o, real) }) {
			e.Link = target
		}
		m.Shown = append(m.Shown, e)
	}
	for _, e := range m.Shown {
		if e.Link == "" {
			m.Masked = append(m.Masked, masked(e.Path)...)
		}
	}
	return m
}

// masked returns the files to cover below a folder that is shown.
func masked(folder string) []string {
	var found []string
	try := func(parts ...string) {
		name := path.Join(append([]string{folder}, parts...)...)
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			if real, err := filepath.EvalSymlinks(name); err == nil && within(folder, real) {
				found = append(found, real)
			}
		}
	}
	for _, bin := range []string{"", "bin", "sbin", "local/bin", "local/sbin"} {
		for _, command := range commands {
			try(bin, command)
		}
	}
	for _, etc := range []string{"etc", "local/etc"} {
		try(etc, "slurm.conf")
		try(etc, "slurm", "slurm.conf")
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// commands are the names of the programs that no fence has.
var commands = []string{
	"sbatch", "salloc", "srun", "scontrol", "squeue", "scancel", "sacct", "sacctmgr", "sinfo", "sattach", "sbcast", "sstat", "strigger",
	"sdiag", "sprio", "sreport", "sshare", "scrontab", "sgather", "sh5util", "slurmd", "slurmstepd", "slurmctld", "slurmdbd", "slurmrestd", "sackd",
	"munge", "unmunge", "remunge", "munged", "at", "batch", "atq", "atrm", "crontab", "sendmail", "mail", "mailx", "wall", "write",
}

// Hides reports whether a table of mounts, as in /proc/mounts, hides the processes of a user
// from others. If it does not, other users of the node can read the command lines of confined
// programs, which may say anything in them.
func Hides(mounts string) (hides bool) {
	for line := range strings.Lines(mounts) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == "/proc" && f[2] == "proc" {
			hides = slices.ContainsFunc(strings.Split(f[3], ","), func(option string) bool {
				return slices.Contains([]string{"hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable"}, option)
			})
		}
	}
	return hides
}
