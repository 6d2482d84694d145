package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

func labConf(l *lab.Lab) string   { return filepath.Join(l.Dir(), "sluice.toml") }
func labSocket(l *lab.Lab) string { return filepath.Join(l.RunDir(), "sluiced.sock") }
func labLog(l *lab.Lab) string    { return filepath.Join(l.Dir(), "sluiced.log") }

// furnishLab writes the configuration with which sluice and sluiced work on the lab, and
// starts sluiced if requested, else says how. more is added to the configuration.
func furnishLab(ctx context.Context, w io.Writer, l *lab.Lab, start bool, more string) error {
	text := fmt.Sprintf("[paths]\nstate = %q\njobs = %q\noutbox = %q\nsocket = %q\n\n[slurm]\nconf = %q\nbin = %q\n",
		l.StateDir(), l.JobsDir(), l.OutboxDir(), labSocket(l), l.Conf(), filepath.Dir(l.Bin("squeue")))
	if err := os.WriteFile(labConf(l), []byte(text+more), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(labConf(l), 0o644); err != nil { // whatever the umask is
		return err
	}
	cmd, err := labDaemon(l)
	if err != nil {
		return err
	}
	if !start {
		typed := strings.Join(cmd.Args, " ")
		if c := cmd.SysProcAttr.Credential; c != nil {
			typed = fmt.Sprintf("setpriv --reuid=%d --regid=%d --init-groups %s", c.Uid, c.Gid, typed)
		}
		fmt.Fprintf(w, "to start sluiced on it: %s &   (or: lab up --daemon)\n", typed)
		return nil
	}
	log, err := os.OpenFile(labLog(l), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("sluiced: %w; it must be in the folder of sluice, where %s can reach it", err, l.SlurmUser())
	}
	if err := answersSoon(ctx, l, cmd); err != nil {
		return err
	}
	fmt.Fprintf(w, "sluiced runs on it as %s, pid %d; its log: %s\n", l.SlurmUser(), cmd.Process.Pid, labLog(l))
	return nil
}

// labDaemon is sluiced, run as the lab's Slurm operator.
func labDaemon(l *lab.Lab) (*exec.Cmd, error) {
	bin, err := ownFolder()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(bin, "sluiced"), "--config", labConf(l))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	u, err := user.Lookup(l.SlurmUser())
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if uid == 0 {
		cmd.Args = append(cmd.Args, "--lab")
	} else if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd, nil
}

// answersSoon waits until sluiced has seen Slurm.
func answersSoon(ctx context.Context, l *lab.Lab, cmd *exec.Cmd) error {
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	client := client.Dial(labSocket(l))
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if s, err := client.Status(ctx); err == nil && !s.Cycled.IsZero() {
			return nil
		}
		select {
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			return ctx.Err()
		case <-ended:
			return fmt.Errorf("sluiced ended at once; see %s", labLog(l))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("sluiced (pid %d) does not answer on %s; see %s", cmd.Process.Pid, labSocket(l), labLog(l))
}

// endLabDaemon stops the sluiced of the lab, however it was started.
func endLabDaemon(ctx context.Context, l *lab.Lab) {
	s, err := client.Dial(labSocket(l)).Status(ctx)
	if err != nil || s.PID < 2 {
		return
	}
	_ = syscall.Kill(s.PID, syscall.SIGTERM)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(s.PID, 0) != nil {
			return
		}
	}
}
