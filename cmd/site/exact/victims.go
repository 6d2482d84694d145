package exact

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// process is a process of the job on any of the lab's nodes, all of which are this
// machine.
type process struct {
	pid    int
	run    int // the job's restart count when it was started
	runner bool
	worker bool
}

// processes finds the processes of the job: its runner by its arguments, the others by
// the job's folder in the environment.
func (j *job) processes() []process {
	var list []process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		args, env := split(dir+"/cmdline"), split(dir+"/environ")
		if len(args) == 0 {
			continue // ended, or a zombie
		}
		runner := len(args) > 2 && args[1] == "run" && slices.Contains(args, filepath.Join(j.folder(), "script"))
		if !runner && !slices.Contains(env, "SLUICE_JOB_DIR="+j.folder()) {
			continue
		}
		p := process{pid: pid, runner: runner, worker: !runner && has(env, "RANK=") && strings.Contains(args[0], "python")}
		p.run = number(env, "SLURM_RESTART_COUNT=") // not set before the first requeue
		list = append(list, p)
	}
	return list
}

// split splits a file of words that end with a zero byte; nil if it may not be read.
func split(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var words []string
	for word := range bytes.SplitSeq(bytes.TrimRight(data, "\x00"), []byte{0}) {
		words = append(words, string(word))
	}
	return words
}

func has(env []string, prefix string) bool {
	return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, prefix) })
}

func number(env []string, prefix string) int {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, prefix); ok {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

// alive reports whether anything of a run is left.
func (j *job) alive(run int) bool {
	return slices.ContainsFunc(j.processes(), func(p process) bool { return p.run <= run })
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
