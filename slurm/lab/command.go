package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// commandDeadline bounds one Slurm command the lab runs for itself.
const commandDeadline = 30 * time.Second

// Command prepares a Slurm command, such as sbatch, of the lab's release and in its
// environment. Its process group is killed when ctx ends.
func (l *Lab) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.Bin(name), args...)
	cmd.Env = append(os.Environ(), l.Env()...)
	return grouped(cmd)
}

// grouped gives a command its own process group, killed as a whole.
func grouped(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// output runs a command and returns its standard output; the error contains its standard
// error.
func output(cmd *exec.Cmd) (string, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		words := strings.Join(strings.Fields(said.String()+" "+out.String()), " ")
		return "", errors.Join(fmt.Errorf("%s: %w: %s", cmd.Args[0], err, words))
	}
	return out.String(), nil
}

// ask runs one Slurm command of the lab within commandDeadline.
func (l *Lab) ask(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandDeadline)
	defer cancel()
	return output(l.Command(ctx, name, args...))
}
