package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// submitLimit bounds the time for 'sluice submit'. It gives sbatch 5 minutes.
const submitLimit = 5*time.Minute + 20*time.Second

// mostSaid bounds what is kept of what 'sluice submit' prints, in bytes.
const mostSaid = 16 << 10

// outcome is how 'sluice submit' ended.
type outcome struct {
	number  int64 // of the job; 0 = none is known
	refused bool  // there is certainly no job
	said    []byte
}

// carried are the variables of vaultd that 'sluice submit' gets.
var carried = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "SLURM_CONF", "TZ", "USER"}

// call runs 'sluice submit' by its arguments, without a shell.
func (s *service) call(ctx context.Context, sub *submission) outcome {
	limited, cancel := context.WithTimeout(ctx, submitLimit)
	defer cancel()
	var out, said bounded
	cmd := exec.CommandContext(limited, s.sluice, append([]string{"submit"}, sub.args...)...)
	cmd.Dir = s.vault.jobFolder(sub.id)
	for _, name := range carried {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	o := outcome{said: said.Bytes(), number: jobNumber(out.String())}
	if err != nil && len(o.said) == 0 {
		o.said = []byte(err.Error())
	}
	var exit *exec.ExitError
	switch {
	case err == nil || o.number > 0:
	case errors.As(err, &exit) && exit.Exited():
		// 'sluice submit' removes the folder of a job that certainly is not there, or has not made it.
		_, err := os.Lstat(filepath.Join(s.site.Paths.Jobs, sub.id))
		o.refused = errors.Is(err, fs.ErrNotExist)
	case cmd.ProcessState == nil:
		o.refused = true // it could not be started
	}
	return o
}

// jobNumber reads the number in the line of a submitted job; 0 if there is none.
func jobNumber(out string) int64 {
	for line := range strings.Lines(out) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "Submitted batch job "); found {
			text, _, _ = strings.Cut(text, " ") // " on cluster NAME"
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

// Write keeps what there is room for, and takes everything.
func (b *bounded) Write(p []byte) (int, error) {
	if room := mostSaid - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
