package supervise

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// Session is one call of sluice run or sluice ranks.
type Session struct {
	Family *process.Family
	Vars   map[string]string // the environment, by name
	// Signals receives the caught signals, which would otherwise end this process or be
	// ignored, so that they can be passed on to its children. It buffers 16.
	Signals chan os.Signal
}

// usual are the signals that every session catches. SIGPIPE is caught so that a closed
// standard error does not end the job. SIGURG is not: the Go runtime sends it to itself.
var usual = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGALRM,
}

// Begin makes the calling process, which MUST have no children yet, the head of a process
// family, and catches the usual signals and more. Entries of env are "NAME=value". It fails
// if the kernel does not let a process adopt orphans.
func Begin(env []string, more ...os.Signal) (*Session, error) {
	family, err := process.Found()
	if err != nil {
		return nil, err
	}
	s := &Session{Family: family, Vars: Vars(env), Signals: make(chan os.Signal, 16)}
	signal.Notify(s.Signals, append(usual[:len(usual):len(usual)], more...)...)
	return s, nil
}

// Close ends the family's bookkeeping. Signals are still caught, so that none ends this
// process while it reports its result.
func (s *Session) Close() { s.Family.Close() }

// Abandoned returns a channel that closes when the supervisor of this process has ended:
// the nearest ancestor that is slurmstepd, or for whose pid also, which may be nil, is true.
// Nothing else would end this process's children then. The channel is nil, which never
// closes, if there is no such ancestor.
func Abandoned(also func(pid int) bool) <-chan struct{} {
	return process.Orphaned(func(pid int, name string) bool {
		return name == "slurmstepd" || also != nil && also(pid)
	})
}

// Gauge is the command of the program that reads the state of a node's GPUs and writes it
// into the job's folder.
func Gauge(program, jobDir, node string, env []string) process.Command {
	return process.Command{Argv: []string{program, "--into=" + jobDir, "--node=" + node}, Env: env}
}

// Vars makes a look-up table of "NAME=value" entries. As in a shell, the last of several
// counts.
func Vars(env []string) map[string]string {
	vars := make(map[string]string, len(env))
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// Restarts is Slurm's count of the restarts of the job, which differs between its runs. It
// is 0 in the first run, for which Slurm sets none.
func Restarts(vars map[string]string) int {
	n, err := strconv.Atoi(vars["SLURM_RESTART_COUNT"])
	if err != nil {
		return 0
	}
	return n
}

// Default sets d to usual unless d is above zero.
func Default(d *time.Duration, usual time.Duration) {
	if *d <= 0 {
		*d = usual
	}
}
