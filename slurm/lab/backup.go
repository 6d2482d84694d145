package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// With Config.Backup a second slurmctld stands by and takes over when the first does not
// answer.
//
// A slurmctld finds its own SlurmctldHost line by its host name, and both listen on the
// one SlurmctldPort. So each runs under its own host name (a private UTS namespace) with
// its own address (a private mount of /etc/hosts). The backup reads its own slurm.conf,
// because a slurmctld kills the process named in its pid file.

// The controllers' addresses.
const (
	primaryAddr = "127.0.0.1"
	backupAddr  = "127.0.0.2"
)

// backupSuffix is appended to the primary's host name to make the backup's.
const backupSuffix = "-backup"

func (d layout) backupConf() string { return d.join("etc", "backup.conf") }
func (d layout) hosts() string      { return d.join("etc", "hosts") }

// backupConf renders the slurm.conf of the backup controller; "" = there is none.
func (s site) backupConf() string {
	if !s.Config.Backup {
		return ""
	}
	d := layout(s.Config.Dir)
	return strings.Replace(s.slurmConf(), "SlurmctldPidFile="+d.join("run", "slurm", "slurmctld.pid"),
		"SlurmctldPidFile="+d.join("run", "slurm", "backup.pid"), 1)
}

// hosts is /etc/hosts as the controllers see it; "" = unchanged.
func (s site) hosts() (string, error) {
	if !s.Config.Backup {
		return "", nil
	}
	text, err := os.ReadFile("/etc/hosts")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	// The first line with a host's name is used.
	return fmt.Sprintf("%s %s\n%s %s\n%s", primaryAddr, s.Host, backupAddr, s.Host+backupSuffix, text), nil
}

// startApart starts a controller of a lab with a backup under the host name, with the
// lab's hosts file. The namespaces belong to one thread, which ends with its goroutine.
func (l *Lab) startApart(host string, cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may use this thread
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWUTS | unix.CLONE_NEWNS); err != nil {
				return fmt.Errorf("%w: a backup controller needs namespaces of its own: %w", ErrConfig, err)
			}
			err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
			err = errors.Join(err, unix.Mount(l.layout().hosts(), "/etc/hosts", "", unix.MS_BIND, ""), unix.Sethostname([]byte(host)))
			if err != nil {
				return err
			}
			return cmd.Start()
		}()
	}()
	return <-done
}

// standsBy waits until the backup, if it runs, listens: one that hands control back does
// not listen for up to 30 s, and cannot take over in that time.
func (l *Lab) standsBy(ctx context.Context, primary *daemon) error {
	running, err := l.pick(ofKind(backup))
	if err != nil || len(running) == 0 {
		return err
	}
	for !listening(backupAddr, l.rec.CtldPort) {
		select {
		case <-primary.ended:
			return l.unhealthy(primary.name, fmt.Errorf("%w: %s ended (%v)", ErrUnhealthy, primary.name, primary.how))
		default:
		}
		if err := pause(ctx, pollEvery); err != nil {
			return l.unhealthy(backupName, fmt.Errorf("%w: %w: %w", ErrUnhealthy, ErrBackup, err))
		}
	}
	return nil
}

// KillBackup ends the backup controller with SIGKILL.
func (l *Lab) KillBackup(ctx context.Context) error {
	return l.fault(ctx, "kill backup", func(ctx context.Context) error { return l.halt(ctx, ofKind(backup), 0) })
}

// StartBackup starts the backup controller and waits until it listens. Starting a running
// one does nothing. It stands by while the primary answers.
func (l *Lab) StartBackup(ctx context.Context) error {
	return l.fault(ctx, "start backup", func(ctx context.Context) error {
		running, err := l.pick(ofKind(backup))
		if err != nil || len(running) > 0 {
			return err
		}
		_, err = l.startBackup(ctx)
		return err
	})
}

func (l *Lab) startBackup(ctx context.Context) (*daemon, error) {
	started, err := l.start(backupName, l.layout().controllerDir(), "slurmctld", "-D", "-f", l.layout().backupConf())
	if err != nil {
		return nil, err
	}
	return started, l.until(ctx, started, func() bool { return listening(backupAddr, l.rec.CtldPort) })
}
