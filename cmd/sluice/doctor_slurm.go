package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// tolerable is the maximum difference between two clocks: less than the duration of a
// resize.
const tolerable = 2 * time.Second

// examineSlurm checks the programs, the controller, the clock and the settings.
func examineSlurm(ctx context.Context, p patient) ([]finding, command.Settings, bool) {
	out, err := p.ask(ctx, "scontrol", "show", "config")
	if err != nil {
		return []finding{failed("slurm", "see 'scontrol ping'; set [slurm] bin and conf where Slurm is not in its usual place",
			"scontrol show config: %v", err)}, nil, false
	}
	s, asOf := command.ParseSettings(out)
	all := []finding{release(s.Get("SLURM_VERSION"))}
	all = append(all, controllerClock(asOf, p.now()))
	for _, check := range settingChecks {
		all = append(all, check(s, p)...)
	}
	return all, s, true
}

// release compares Slurm's version with those that sluice was tested on.
func release(version string) finding {
	var year, month int
	if _, err := fmt.Sscanf(version, "%d.%d", &year, &month); err != nil {
		return warned("slurm", "", "Slurm does not report its release (%q)", version)
	}
	if year*100+month < 2011 {
		return warned("slurm", "upgrade Slurm", "Slurm %s answers; the oldest tested release is 20.11", version)
	}
	return passed("slurm", "Slurm %s answers", version)
}

func controllerClock(asOf, now time.Time) finding {
	if asOf.IsZero() {
		return warned("clock", "", "slurmctld does not report its time")
	}
	// The controller's time is in whole seconds.
	if apart := now.Sub(asOf).Abs(); apart > tolerable+time.Second {
		return failed("clock", "run NTP on this host and slurmctld's: munge and start times depend on it",
			"this host's clock and slurmctld's are %s apart", terminal.Clock(apart))
	}
	return passed("clock", "this host's clock agrees with slurmctld's")
}

// ask runs one of Slurm's query programs, with a deadline, in its own process group,
// which is killed at the deadline.
func (p patient) ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.site.Slurm.Timeout)
	defer cancel()
	path, err := exec.LookPath(filepath.Join(p.site.Slurm.Bin, program))
	if err != nil {
		return "", fmt.Errorf("no such program: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "SLURM_TIME_FORMAT=standard", "TZ=UTC")
	if p.site.Slurm.Conf != "" {
		cmd.Env = append(cmd.Env, "SLURM_CONF="+p.site.Slurm.Conf)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("no answer within %s", terminal.Clock(p.site.Slurm.Timeout))
		}
		return "", errors.New(strings.TrimSpace(err.Error() + ": " + terminal.Cut(words.String(), 300)))
	}
	return out.String(), nil
}

// examineRights checks that the daemon's account may change other users' jobs.
func examineRights(ctx context.Context, p patient, s command.Settings, daemon account) []finding {
	if p.user {
		return []finding{passed("rights", "user mode: your own jobs, which Slurm lets you change")}
	}
	r := slurm.Rights{Account: daemon.name, SlurmUser: s.SlurmUser(), Database: s.Database()}
	if r.Owns() {
		return []finding{passed("rights", "%s may change all jobs", r.Account)}
	}
	if r.Database {
		level, err := p.ask(ctx, "sacctmgr", "-n", "-P", "show", "user", r.Account, "format=adminlevel")
		if err != nil {
			return []finding{warned("rights", "", "cannot determine whether %s is an operator: %v", r.Account, err)}
		}
		r.Level = strings.TrimSpace(level)
	}
	text, do := r.Missing()
	switch {
	case text == "":
		return []finding{passed("rights", "%s is a Slurm %s", r.Account, strings.ToLower(r.Level))}
	case r.Database:
		return []finding{typed(failed("rights", "", "%s", text), do)}
	}
	return []finding{failed("rights", do, "%s", text)}
}
