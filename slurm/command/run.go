package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Bounds of one call.
const (
	maxOutput = 256 << 20 // bytes of standard output; 100,000 jobs are about 60 MB
	maxErrors = 64 << 10  // bytes of standard error kept; the rest is dropped
	// drain is how long a killed process group may hold our pipes before they are closed.
	drain = 2 * time.Second
)

var (
	errNoAnswer = errors.New("no answer in time")
	errTooMuch  = errors.New("too much output")
)

// call is one run of a Slurm program.
type call struct {
	op      string // for people: "scontrol requeuehold"
	job     slurm.JobID
	program string
	args    []string
	env     []string
	dir     string
	stdin   []byte
	mutates bool
	limit   int64 // bytes of standard output; 0 means maxOutput
	// patience multiplies the client's timeout for this call; 0 means 1.
	patience int
}

// answer is the output of a program; complete only if it exited with 0.
type answer struct{ stdout, stderr string }

// run makes a call and tells Config.Called of it.
func (c *Client) run(ctx context.Context, k call) (answer, error) {
	path, ok := c.programs[k.program]
	if !ok {
		return answer{}, k.fail(slurm.ErrMissingProgram, c.missing[k.program], "install Slurm's client programs")
	}
	if err := ctx.Err(); err != nil {
		return answer{}, err // nothing was started
	}
	if c.called == nil {
		return c.start(ctx, k, path)
	}
	began := c.now()
	out, err := c.start(ctx, k, path)
	c.called(k.op, max(0, c.now().Sub(began)), err)
	return out, err
}

// start starts the program in a process group of its own, waits for it at most
// the client's timeout, and kills the whole group when time or output run out.
func (c *Client) start(ctx context.Context, k call, path string) (answer, error) {
	timeout := c.timeout * time.Duration(max(1, k.patience))
	timed, cancelTime := context.WithTimeoutCause(ctx, timeout, errNoAnswer)
	defer cancelTime()
	bounded, cancel := context.WithCancelCause(timed)
	defer cancel(nil)

	stdout := &capped{left: k.limit, full: func() { cancel(errTooMuch) }}
	if stdout.left == 0 {
		stdout.left = maxOutput
	}
	stderr := &capped{left: maxErrors}
	cmd := exec.CommandContext(bounded, path, k.args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = k.env, k.dir, stdout, stderr, drain
	if k.stdin != nil {
		cmd.Stdin = bytes.NewReader(k.stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

	err := cmd.Run()
	out := answer{stdout.String(), stderr.String()}
	if errors.Is(err, exec.ErrWaitDelay) {
		// The program exited with 0 but left a child that holds its pipes. The group
		// still exists because of the child, so its number has not been reused.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		err = nil
	}
	if err == nil && !stdout.over {
		return out, k.accepted(out)
	}
	return out, k.failed(ctx, bounded, err, out, timeout)
}

// failed turns a run that did not end well into an error.
func (k call) failed(ctx, bounded context.Context, err error, out answer, timeout time.Duration) error {
	var exit *exec.ExitError
	switch cause := context.Cause(bounded); {
	case errors.Is(cause, errTooMuch):
		most := k.limit
		if most == 0 {
			most = maxOutput
		}
		return k.fail(slurm.ErrGarbage, fmt.Sprintf("more than %d bytes of output", most), "")
	case cause != nil && k.mutates:
		return k.fail(slurm.ErrUnknownOutcome, because(cause, timeout), "look at the job before trying again")
	case cause != nil && ctx.Err() != nil:
		return ctx.Err()
	case cause != nil:
		return k.fail(slurm.ErrControllerDown, because(cause, timeout), hintSilent)
	case errors.As(err, &exit) && exit.Exited():
		return k.refused(out, exit.String())
	case errors.As(err, &exit) && k.mutates:
		return k.fail(slurm.ErrUnknownOutcome, "killed by "+exit.String(), "look at the job before trying again")
	case errors.As(err, &exit):
		return k.fail(slurm.ErrControllerDown, "ended by "+exit.String(), "")
	}
	for _, short := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		if errors.Is(err, short) { // nothing was started; a later attempt may succeed
			return k.fail(slurm.ErrControllerDown, clean(err.Error()), "this machine, or the limit of this process, is used up: see LimitNOFILE and TasksMax of sluiced.service")
		}
	}
	return k.fail(slurm.ErrMissingProgram, clean(err.Error()), "see that the program may be run here")
}

// because says why a call was cut off.
func because(cause error, timeout time.Duration) string {
	if errors.Is(cause, errNoAnswer) {
		return fmt.Sprintf("no answer in %v", timeout)
	}
	return "cut off: " + cause.Error()
}

func (k call) fail(kind error, words, hint string) error {
	return &slurm.Error{Op: k.op, JobID: k.job, Err: kind, Words: words, Hint: hint}
}

// capped keeps the first bytes it is given. When full is set, one byte too many
// is an error and calls it; else the rest is dropped in silence.
type capped struct {
	buf  strings.Builder // its text is handed out without a copy
	left int64
	over bool
	full func()
}

var _ io.Writer = (*capped)(nil)

// Write keeps what fits. The first byte beyond calls full, if it is set, and fails; without full it reports success,
// so that the program that writes is not ended.
func (w *capped) Write(p []byte) (int, error) {
	if int64(len(p)) <= w.left {
		w.left -= int64(len(p))
		if w.buf.Cap()-w.buf.Len() < len(p) {
			w.buf.Grow(len(p) + w.buf.Len()) // grow to twice as much: 60 MB are copied a few times only
		}
		return w.buf.Write(p)
	}
	w.buf.Write(p[:w.left])
	w.left, w.over = 0, true
	if w.full != nil {
		w.full()
		return 0, errTooMuch
	}
	return len(p), nil
}

// String is what was kept.
func (w *capped) String() string { return w.buf.String() }
