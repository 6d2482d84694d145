package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// pollEvery is the step of every wait for a process or for Slurm.
const pollEvery = 50 * time.Millisecond

// daemon is one daemon that this process has just started.
type daemon struct {
	name  string
	ended chan struct{} // closed once it has exited
	how   error         // the exit error; read after ended
}

// start runs one of the lab's daemons in the foreground of its own session, so that it
// outlives this process and gets no terminal signals. Its output goes to log/NAME.out.
func (l *Lab) start(name, dir, program string, args ...string) (*daemon, error) {
	out, err := os.OpenFile(l.layout().out(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(l.Bin(program), args...)
	cmd.Dir, cmd.Env = dir, l.daemonEnv()
	if program == databaseServer {
		cmd.Env = l.databaseEnv()
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: l.credential(program)}
	if err := l.launch(name, cmd); err != nil {
		return nil, err
	}
	d := &daemon{name: name, ended: make(chan struct{})}
	// A goroutine for each daemon collects its exit status, without which it
	// would stay a zombie while this process lives. Nothing waits for the
	// goroutine: when this process ends first, init inherits the daemon.
	go func() {
		d.how = cmd.Wait()
		close(d.ended)
	}()
	return d, nil
}

// launch starts a daemon; in a lab with a backup the controllers get their own host
// names.
func (l *Lab) launch(name string, cmd *exec.Cmd) error {
	if !l.rec.Config.Backup || name != "slurmctld" && name != backupName {
		return cmd.Start()
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	host, _, _ = strings.Cut(host, ".")
	if name == backupName {
		host += backupSuffix
	}
	return l.startApart(host, cmd)
}

// daemonEnv is the whole environment of the daemons: nothing of the caller's may change
// their behaviour or reach jobs.
func (l *Lab) daemonEnv() []string {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "SLURM_CONF=" + l.Conf()}
	if tz, ok := os.LookupEnv("TZ"); ok {
		env = append(env, "TZ="+tz)
	}
	if l.rec.Libraries != "" {
		// Only the daemons get this; slurmd passes the submitter's environment to jobs.
		env = append(env, "LD_LIBRARY_PATH="+l.rec.Libraries)
	}
	if l.rec.Config.Accounting {
		env = append(env, "MYSQL_UNIX_PORT="+l.layout().databaseSocket())
	}
	return env
}

func (l *Lab) startMunged(ctx context.Context) (*daemon, error) {
	d := l.layout()
	started, err := l.start("munged", d.join("run"), "munged", "--foreground",
		"--socket="+d.mungeSocket(),
		"--key-file="+d.key(),
		"--pid-file="+d.join("run", "munged.pid"),
		"--seed-file="+d.join("run", "munge.seed"),
		"--log-file="+d.log("munged"),
		"--num-threads=2")
	if err != nil {
		return nil, err
	}
	return started, l.until(ctx, started, func() bool {
		_, err := os.Stat(d.mungeSocket())
		return err == nil
	})
}

// startController starts slurmctld; fresh discards the saved state, and with it every
// job.
func (l *Lab) startController(ctx context.Context, fresh bool) (*daemon, error) {
	args := []string{"-D", "-f", l.Conf()}
	if fresh {
		args = append(args, "-c")
	}
	started, err := l.start("slurmctld", l.layout().controllerDir(), "slurmctld", args...)
	if err != nil {
		return nil, err
	}
	return started, l.until(ctx, started, func() bool { return listening(primaryAddr, l.rec.CtldPort) })
}

func (l *Lab) startSlurmd(ctx context.Context, node string) (*daemon, error) {
	args := []string{"-D", "-N", node, "-f", l.Conf()}
	if l.rec.Config.Root != "" {
		args = append(args, "-d", l.Bin("slurmstepd"))
	}
	name, spool := slurmdName(node), l.layout().spool(node)
	if apart := l.rec.Config.Apart; apart != "" {
		args = append([]string{"--mount", "sh", "-c", "NODE=" + node + "; " + apart + ` || exit; exec "$@"`, "sh", l.Bin("slurmd")}, args...)
		return l.start(name, spool, "unshare", args...)
	}
	return l.start(name, spool, "slurmd", args...)
}

// until waits for ready; the error is of kind ErrUnhealthy and contains the daemon's last
// lines of output if it ends first or ctx does.
func (l *Lab) until(ctx context.Context, d *daemon, ready func() bool) error {
	for !ready() {
		select {
		case <-d.ended:
			return l.unhealthy(d.name, fmt.Errorf("%w: %s ended (%v)", ErrUnhealthy, d.name, d.how))
		default:
		}
		if err := pause(ctx, pollEvery); err != nil {
			return l.unhealthy(d.name, fmt.Errorf("%w: %s was not ready in time: %w", ErrUnhealthy, d.name, err))
		}
	}
	return nil
}

// unhealthy is the error for a daemon that failed, with its last lines of output.
func (l *Lab) unhealthy(name string, err error) error {
	return &Error{Op: "lab", Dir: l.Dir(), Err: err, Log: lastLines(l.layout().out(name), 15)}
}

// halt ends the selected processes: first SIGTERM and a wait of up to grace, then
// SIGKILL. With grace 0 it kills at once.
func (l *Lab) halt(ctx context.Context, w which, grace time.Duration) error {
	if grace > 0 {
		gone, err := l.signalUntilGone(ctx, w, syscall.SIGTERM, grace)
		if gone || err != nil {
			return err
		}
	}
	gone, err := l.signalUntilGone(ctx, w, syscall.SIGKILL, 10*time.Second)
	if err != nil || gone {
		return err
	}
	left, err := l.pick(w)
	return errors.Join(err, fmt.Errorf("still running after SIGKILL: %s", describe(left)))
}

// signalUntilGone signals each selected process once, including those that appear in the
// meantime, and reports whether all have ended within the time.
func (l *Lab) signalUntilGone(ctx context.Context, w which, sig syscall.Signal, limit time.Duration) (bool, error) {
	type identity struct {
		pid   int
		start uint64
	}
	done := map[identity]bool{}
	for deadline := time.Now().Add(limit); ; {
		list, err := l.pick(w)
		if err != nil || len(list) == 0 {
			return err == nil, err
		}
		for _, m := range list {
			id := identity{m.pid, m.start}
			if done[id] {
				continue
			}
			done[id] = true
			// A stopped process handles SIGTERM only once it is continued.
			if err := errors.Join(m.signal(sig), m.signal(syscall.SIGCONT)); err != nil {
				return false, err
			}
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := pause(ctx, pollEvery/2); err != nil {
			return false, err
		}
	}
}

// describe lists processes for an error message.
func describe(list []member) string {
	var words []string
	for _, m := range list {
		words = append(words, fmt.Sprintf("%s (%d)", m.daemon(), m.pid))
	}
	return strings.Join(words, ", ")
}
