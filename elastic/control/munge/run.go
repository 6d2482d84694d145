package munge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// drain is how long a killed program may hold our pipes.
const drain = time.Second

// run runs one of the programs with the input on its standard input and returns
// what it printed, at most limit bytes.
func (t *Tool) run(ctx context.Context, program string, input []byte, limit int, args ...string) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	if t.socket != "" {
		args = append(args, "--socket="+t.socket)
	}
	cmd := exec.CommandContext(bounded, program, args...)
	stdout, stderr := &capped{left: limit}, &capped{left: 4 << 10}
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(input), stdout, stderr, drain
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		// It ended well but left a child holding its pipes; the group still exists
		// because of it, so its number is still ours.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		err = nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: %s has not answered in %v; is munged well?", ErrMissing, program, runWithin)
	case err != nil:
		return nil, failed(program, err, stdout.buf.String(), stderr.buf.String())
	case stdout.over:
		return nil, fmt.Errorf("%w: %s printed more than %d bytes", ErrRefused, program, limit)
	}
	return stdout.buf.Bytes(), nil
}

// firstRefusal is the least exit code by which unmunge speaks of the credential
// rather than of munged: EMUNGE_BAD_CRED in munge.h.
const firstRefusal = 8

// failed tells a bad credential from a munged that is down.
func failed(program string, err error, stdout, stderr string) error {
	why := reason(stdout, stderr)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= firstRefusal {
		return fmt.Errorf("%w: %s", ErrRefused, why)
	}
	if why == "" {
		why = err.Error()
	}
	return fmt.Errorf("%w: %s: %s", ErrMissing, program, why)
}

// reason is unmunge's own word on what is wrong: its status, else the first line
// of its complaint.
func reason(stdout, stderr string) string {
	if meta, err := metadata([]byte(stdout)); err == nil && meta["STATUS"] != "" {
		return words(meta["STATUS"])
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return words(line)
}

// words keeps what may be shown: printable, and not long.
func words(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), 200)]
}

// capped keeps the first bytes it is given and remembers that there were more.
type capped struct {
	buf  bytes.Buffer // not embedded: its ReadFrom would know no bound
	left int
	over bool
}

// Write never fails: a program that prints too much ends by itself or by its
// deadline.
func (w *capped) Write(p []byte) (int, error) {
	keep := min(len(p), w.left)
	w.buf.Write(p[:keep])
	w.left -= keep
	w.over = w.over || keep < len(p)
	return len(p), nil
}
