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

// Session is what such a process works with.
type Session struct {
	Family *process.Family
	Vars   map[string]string // its environment, by name
	// Signals receives what the process would else die of, or pass over, while its children
	// are to hear of it. It holds up to 16 that were not taken yet.
	Signals chan os.Signal
}

// usual are the signals that every session catches. SIGPIPE is caught so that a closed
// standard error does not end the job; SIGURG is left out, which the Go runtime sends
// itself.
var usual = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGALRM,
}

// Begin founds the family of the calling process, which must have no children yet, and
// catches the usual signals and those given. env are entries "NAME=value". It fails where
// the kernel does not let a process adopt orphans.
func Begin(env []string, more ...os.Signal) (*Session, error) {
	family, err := process.Found()
	if err != nil {
		return nil, err
	}
	s := &Session{Family: family, Vars: Vars(env), Signals: make(chan os.Signal, 16)}
	signal.Notify(s.Signals, append(usual[:len(usual):len(usual)], more...)...)
	return s, nil
}

// Close lets the family go. Signals are still caught: the last moments of a process are no
// time to be ended.
func (s *Session) Close() { s.Family.Close() }

// Abandoned returns a channel that closes when nobody is left to end what this process
// runs: the nearest of its ancestors that is the daemon of a job's step, or that also picks
// by its number, has ended. It is nil, which never closes, when there is none to be seen;
// also may be nil.
func Abandoned(also func(pid int) bool) <-chan struct{} {
	return process.Orphaned(func(pid int, name string) bool {
		return name == "slurmstepd" || also != nil && also(pid)
	})
}

// Gauge is the command of the program that looks at a node's GPUs and writes what it sees
// into the job's folder.
func Gauge(program, jobDir, node string, env []string) process.Command {
	return process.Command{Argv: []string{program, "--into=" + jobDir, "--node=" + node}, Env: env}
}

// Vars makes a look-up table of "NAME=value" entries. As for a shell, the last of several
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

// Restarts is Slurm's count of the restarts of the job, which tells its runs apart; Slurm
// sets none in the first run, which is 0.
func Restarts(vars map[string]string) int {
	n, err := strconv.Atoi(vars["SLURM_RESTART_COUNT"])
	if err != nil {
		return 0
	}
	return n
}

// Default sets a time that is not set, or is below zero, to the usual one.
func Default(d *time.Duration, usual time.Duration) {
	if *d <= 0 {
		*d = usual
	}
}
