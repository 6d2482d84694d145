package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// tolerable is how far apart two clocks may be: less than what a resize takes.
const tolerable = 2 * time.Second

// settings are what "scontrol show config" says.
type settings map[string]string

// parseSettings reads the "Key = value" lines and the controller's own time at
// the head; whatever else is there is skipped.
func parseSettings(text string) (settings, time.Time) {
	s := settings{}
	var asOf time.Time
	for line := range strings.SplitSeq(text, "\n") {
		if stamp, found := strings.CutPrefix(line, "Configuration data as of "); found {
			asOf, _ = time.ParseInLocation("2006-01-02T15:04:05", strings.TrimSpace(stamp), time.Local)
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			continue
		}
		if _, twice := s[key]; !twice {
			s[key] = strings.TrimSpace(value)
		}
	}
	return s, asOf
}

// get returns a setting, "" when it is not set.
func (s settings) get(key string) string {
	value := s[key]
	if value == "(null)" || strings.EqualFold(value, "none") {
		return ""
	}
	return value
}

// number returns the leading number of a setting such as "30 sec".
func (s settings) number(key string) (int, bool) {
	word, _, _ := strings.Cut(s.get(key), " ")
	n, err := strconv.Atoi(word)
	return n, err == nil
}

// scheduling returns one word of SchedulerParameters, and whether it is there.
func (s settings) scheduling(name string) (string, bool) {
	for word := range strings.SplitSeq(s.get("SchedulerParameters"), ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
	return "", false
}

// examineSlurm checks the programs, the controller, the clock and the settings.
func examineSlurm(ctx context.Context, p patient) ([]finding, settings, bool) {
	out, err := p.ask(ctx, "scontrol", "show", "config")
	if err != nil {
		return []finding{failed("slurm", "see 'scontrol ping'; set [slurm] bin and conf where Slurm is not in its usual place",
			"scontrol show config: %v", err)}, nil, false
	}
	s, asOf := parseSettings(out)
	all := []finding{release(s.get("SLURM_VERSION"))}
	all = append(all, controllerClock(asOf, p.now()))
	for _, check := range settingChecks {
		all = append(all, check(s, p)...)
	}
	return all, s, true
}

// release judges Slurm's version by what sluice has been tried on.
func release(version string) finding {
	var year, month int
	if _, err := fmt.Sscanf(version, "%d.%d", &year, &month); err != nil {
		return warned("slurm", "", "Slurm does not say its release (%q)", version)
	}
	if year*100+month < 2011 {
		return warned("slurm", "upgrade Slurm", "Slurm %s answers; the oldest release tried is 20.11", version)
	}
	return passed("slurm", "Slurm %s answers", version)
}

func controllerClock(asOf, now time.Time) finding {
	if asOf.IsZero() {
		return warned("clock", "", "slurmctld does not say what time it has")
	}
	// The controller's is in whole seconds.
	if apart := now.Sub(asOf).Abs(); apart > tolerable+time.Second {
		return failed("clock", "run NTP on this host and slurmctld's: munge and start times depend on it",
			"this host's clock and slurmctld's are %s apart", clock(apart))
	}
	return passed("clock", "this host's clock agrees with slurmctld's")
}

// ask runs one of Slurm's query programs, with a deadline, in a process group of
// its own that is killed with it.
func (p patient) ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.site.Slurm.Timeout)
	defer cancel()
	path, err := exec.LookPath(filepath.Join(p.site.Slurm.Bin, program))
	if err != nil {
		return "", fmt.Errorf("no such program: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "SLURM_TIME_FORMAT=standard")
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
			return "", fmt.Errorf("no answer within %s", clock(p.site.Slurm.Timeout))
		}
		return "", errors.New(strings.TrimSpace(err.Error() + ": " + cut(words.String(), 300)))
	}
	return out.String(), nil
}

// examineRights checks that the daemon's account may direct jobs.
func examineRights(ctx context.Context, p patient, s settings, daemon account) []finding {
	if p.user {
		return []finding{passed("rights", "user mode: your own jobs, which Slurm lets you direct")}
	}
	r := slurm.Rights{Account: daemon.name, Database: s.get("AccountingStorageType") == "accounting_storage/slurmdbd"}
	r.SlurmUser, _, _ = strings.Cut(s.get("SlurmUser"), "(")
	if r.Owns() {
		return []finding{passed("rights", "%s may direct all jobs", r.Account)}
	}
	if r.Database {
		level, err := p.ask(ctx, "sacctmgr", "-n", "-P", "show", "user", r.Account, "format=adminlevel")
		if err != nil {
			return []finding{warned("rights", "", "cannot tell whether %s is an operator: %v", r.Account, err)}
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
