package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// sbatchLimit bounds the time for sbatch. sbatch itself retries for 2 min while slurmctld
// tells it to, so this is far above any normal answer.
const sbatchLimit = 5 * time.Minute

// fate is the outcome of a call of sbatch.
type fate int

const (
	accepted fate = iota
	refused       // there is certainly no job
	unknown       // there may be a job
)

// sbatchCall is one call of the real sbatch, as the user and in the user's environment.
// It is made here and not through slurm/command because its output belongs to the user:
// it reaches the terminal as it is written, and its exit code is the answer.
type sbatchCall struct {
	program string
	args    []string
	environ []string
	stdin   []byte
	limit   time.Duration
	errs    io.Writer
}

// call prepares sbatch.
func (s *submission) call(args []string, stdin []byte) (sbatchCall, error) {
	c := sbatchCall{program: "sbatch", args: args, environ: sbatch.Without(s.environ), stdin: stdin, limit: sbatchLimit, errs: s.errs}
	if dir := s.site.Slurm.Bin; dir != "" {
		c.program = filepath.Join(dir, "sbatch")
	}
	path, err := exec.LookPath(c.program)
	if err != nil {
		return c, fmt.Errorf("%s is not installed; sluice needs Slurm's own commands (Debian: slurm-client), in PATH or where [slurm] bin in sluice.toml says", c.program)
	}
	c.program = path
	if conf := s.site.Slurm.Conf; conf != "" && !hasVariable(c.environ, "SLURM_CONF") {
		c.environ = append(c.environ, "SLURM_CONF="+conf)
	}
	return c, nil
}

func hasVariable(environ []string, name string) bool {
	for _, entry := range environ {
		if strings.HasPrefix(entry, name+"=") {
			return true
		}
	}
	return false
}

// answer is how sbatch ended.
type answer struct {
	fate fate
	code int    // exit code; 0 unless refused
	out  string // standard output
	why  string // why the outcome is unknown; of an accepted job, how sbatch failed after that
}

// error is the error with which sluice exits: sbatch has printed everything itself.
func (a answer) error() error {
	if a.code == 0 {
		return nil
	}
	return terminal.ExitCode(a.code)
}

// run runs sbatch to its end, or to the time limit or an interrupt, at which its whole
// process group is killed. Its standard error is passed on as it is written.
func (c sbatchCall) run(ctx context.Context) answer {
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(limited, c.program, c.args...)
	cmd.Env, cmd.Stdin = c.environ, bytes.NewReader(c.stdin)
	if c.stdin == nil {
		cmd.Stdin = nil // a missing script must not be waited for
	}
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&said, lossy{c.errs})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()

	_, named := jobID(out.String())
	// A plugin's number is not an id, so it must be sbatch's own line where sbatch failed.
	named = named && (strings.Contains(out.String(), submittedLine) || slices.Contains(c.args, "--parsable"))
	var exit *exec.ExitError
	switch { // in this order: an id, and a success without one, say that there is a job, whatever else failed
	case cmd.ProcessState != nil && cmd.ProcessState.Success():
		return answer{out: out.String()}
	case named:
		return answer{out: out.String(), why: terminal.Cause(err).Error()}
	case ctx.Err() != nil:
		return answer{fate: unknown, why: "interrupted while sbatch was running"}
	case limited.Err() != nil:
		return answer{fate: unknown, why: fmt.Sprintf("sbatch gave no answer in %v and was stopped", c.limit)}
	case !errors.As(err, &exit):
		fmt.Fprintf(c.errs, "sluice: error: %s cannot be run: %v\n", c.program, terminal.Cause(err))
		return answer{fate: refused, code: 1}
	case !exit.Exited():
		return answer{fate: unknown, why: "sbatch was ended by " + exit.String()}
	case lost(said.String()):
		return answer{fate: unknown, code: exit.ExitCode(), why: "slurmctld's answer to sbatch was lost"}
	}
	return answer{fate: refused, code: exit.ExitCode(), out: out.String()}
}

// lossy passes text on and reports no failure: with an error os/exec would close the pipe that sbatch
// writes to, which kills it in the middle of a submission.
type lossy struct{ io.Writer }

// Write takes everything.
func (w lossy) Write(text []byte) (int, error) {
	_, _ = w.Writer.Write(text)
	return len(text), nil
}

// lost reports whether sbatch's output leaves it unknown whether there is a job: the
// request may have reached slurmctld, and only the answer was lost.
func lost(said string) bool {
	said = strings.ToLower(said)
	for _, words := range []string{"timed out", "receive failure", "send failure", "shutdown failure", "zero bytes were transmitted",
		"unexpected message", "connection reset", "header lengths", "message length"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// submittedLine begins sbatch's line of a job, unless --parsable is given.
const submittedLine = "Submitted batch job "

// jobID parses the number in sbatch's line, with or without --parsable: the last line
// that has one, because a site's plugins may print lines before it.
func jobID(out string) (slurm.JobID, bool) {
	lines := strings.Split(out, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		text := strings.TrimPrefix(lines[i], submittedLine)
		text, _, _ = strings.Cut(text, ";")
		text, _, _ = strings.Cut(text, " on cluster ")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && text[0] != '+' {
			return slurm.JobID(n), true
		}
	}
	return 0, false
}
