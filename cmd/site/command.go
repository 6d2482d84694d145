package site

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// env is the environment of users' commands.
func (s *Site) env() []string {
	// Built with the race detector, a program would sleep 1 s at its end.
	keep := []string{"GORACE=atexit_sleep_ms=0", "HOME=" + s.Path("home"), "LANG=C", "LC_ALL=C", "PATH=" + s.bin + ":" + filepath.Dir(s.Lab.Bin("squeue")) +
		":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		keep = append(keep, "GOCOVERDIR="+dir)
	}
	if zone := os.Getenv("TZ"); zone != "" { // Slurm's daemons have it, too
		keep = append(keep, "TZ="+zone)
	}
	for _, e := range s.Lab.Env() {
		if !strings.HasPrefix(e, "PATH=") { // the folder of its commands is in ours already
			keep = append(keep, e)
		}
	}
	return append(keep, "SLUICE_CONF="+s.Conf, "SLUICE_PYTHON="+s.Path("python"))
}

// Command prepares a command as typed by a user ("" = the caller) in the user's work
// directory, with the environment for Slurm and sluice.
func (s *Site) Command(ctx context.Context, user, name string, args ...string) (*exec.Cmd, error) {
	env := s.env()
	cmd := exec.CommandContext(ctx, lookPath(env, name), args...)
	cmd.Dir, cmd.Env = s.Home(user), env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	if user == "" {
		return cmd, nil
	}
	for _, a := range s.accounts {
		if a.name == user {
			cmd.SysProcAttr.Credential = &a.credential
			cmd.Env = append(cmd.Env, "USER="+user, "LOGNAME="+user, "HOME="+s.Home(user))
			return cmd, nil
		}
	}
	return nil, fmt.Errorf("the site has no account %q", user)
}

// Run runs a command to its end and returns its standard output without the last newline.
// The error contains its standard error.
func (s *Site) Run(ctx context.Context, user, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd, err := s.Command(ctx, user, name, args...)
	if err != nil {
		return "", err
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return strings.TrimRight(out.String(), "\n"), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}
