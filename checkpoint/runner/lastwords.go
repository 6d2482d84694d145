package runner

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

const (
	lastLines = 20       // lines of the output that are kept
	lastBytes = 64 << 10 // bytes of the output that are read
)

// lastWords says why the script failed; nil if it did not, or if it was ended after its
// work was saved.
func (r *run) lastWords(exit process.Exit) *checkpoint.LastWords {
	saved := r.state.answer != nil && r.state.answer.Checkpoint != ""
	if exit.Code == 0 || r.alone || (r.state.stopping && saved) {
		return nil
	}
	if r.state.stopping && r.state.stranded {
		return &checkpoint.LastWords{Why: "a step hung: " + r.hang.rest.String()}
	}
	if r.state.stopping {
		return &checkpoint.LastWords{Why: "Slurm ended the job: it was cancelled, preempted or out of time"}
	}
	if r.fence != nil {
		return &checkpoint.LastWords{Why: "the program failed: its output is in the job's log"}
	}
	tail := r.tail()
	why := []string{meaning(exit, r.memory())}
	if first, failed := ranks.FirstFailure(r.job.jobDir); failed {
		why = append(why, first.String())
	}
	if culprit := culprit(tail); culprit != "" {
		why = append(why, culprit)
	}
	if r.state.request != nil && !saved {
		why = append(why, "it was asked to save and ended before that was done")
	}
	if r.failures > 0 {
		why = append(why, fmt.Sprintf("it was started again %d time(s) before", r.failures))
	}
	return checkpoint.NewLastWords(strings.Join(why, "; "), spoken(tail))
}

// tail returns the script's last lines: of its errors if they have their own file, unless
// that is empty.
func (r *run) tail() []string {
	for i := len(r.outputs) - 1; i >= 0; i-- {
		o := r.outputs[i]
		if text := o.tail(o.from, lastBytes); len(text) > 0 {
			return strings.Split(strings.TrimRight(string(text), "\r\n"), "\n")
		}
	}
	return nil
}

// spoken returns the last non-empty lines as a terminal would show them: a progress bar
// overwrites itself.
func spoken(tail []string) []string {
	var lines []string
	for i := len(tail) - 1; i >= 0 && len(lines) < lastLines; i-- {
		line := strings.TrimRight(tail[i], "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if _, banner := ParseBanner(line); !banner && strings.TrimSpace(line) != "" {
			lines = append([]string{line}, lines...)
		}
	}
	return lines
}

// If several processes fail, most fail because another did; a launcher reports that in
// its own traceback.
var secondary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`ChildFailedError|SignalException|Broken ?[Pp]ipe|[Cc]onnection (was )?(closed|reset|refused)|Distributed\w*Error|Connection\w*Error|KeyboardInterrupt`)
})

// others are the prefixes of lines of other programs: the output of all processes goes to
// one file.
var others = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(srun|slurmstepd|sluice|sluice ranks|== sluice): `) })

const traceback = "Traceback (most recent call last):"

// culprit returns the error with which a Python program ended: the last line of a
// traceback, preferably of one that does not name another process's failure; "" without a
// traceback.
func culprit(tail []string) string {
	var found, other string
	for i, line := range tail {
		prefix, rest, is := strings.Cut(line, traceback)
		if !is || strings.TrimSpace(rest) != "" {
			continue
		}
		for _, next := range tail[i+1:] {
			next = strings.TrimPrefix(next, prefix)
			if next == "" || strings.TrimLeft(next, " \t") != next || others().MatchString(next) {
				continue // a frame of the stack
			}
			if secondary().MatchString(next) {
				other = next
			} else {
				found = next
			}
			break
		}
	}
	if found == "" {
		found = other
	}
	return clipped(strings.TrimSpace(found), 300)
}

// memory is what is known of processes killed for their memory in this run.
type memory struct {
	kills int
	known bool
}

func (r *run) memory() memory {
	kills, known := process.OOMKills(process.Cgroups)
	return memory{kills - r.killed, known && r.counted}
}

// meanings are the meanings of exit codes that are the same for all programs.
var meanings = map[int]string{
	126: "a command cannot be executed",
	127: "a command was not found",
	134: "a process aborted",
	135: "a process was killed by a bus error: /dev/shm may be full",
	139: "a process crashed: segmentation fault",
	143: "a process was ended by SIGTERM",
}

// meaning describes an exit.
func meaning(exit process.Exit, m memory) string {
	words := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != "" {
		words = "killed by signal " + exit.Signal
	}
	switch what, known := meanings[exit.Code]; {
	case m.known && m.kills > 0:
		return words + fmt.Sprintf(": out of memory, the kernel killed %d of the job's processes", m.kills)
	case exit.Code != 137:
		if known && exit.Signal == "" {
			words += ": " + what
		}
		return words
	case m.known:
		return "killed by signal 9 (not out of memory)"
	}
	return words + ": killed, probably out of memory"
}
