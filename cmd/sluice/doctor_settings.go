package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// settingChecks is the list of checks of Slurm's settings.
var settingChecks = []func(command.Settings, patient) []finding{
	gpuSelection, schedulerWaits, schedulerDefers, afterTheJob, scripts, preemption, jobMemory, patience, privacy,
}

// gpuSelection: without these settings Slurm cannot allocate single GPUs.
func gpuSelection(s command.Settings, _ patient) []finding {
	var all []finding
	if s.Get("SelectType") != "select/cons_tres" {
		all = append(all, failed("gpus", "set SelectType=select/cons_tres in slurm.conf", "SelectType is %s: jobs cannot get single GPUs", s["SelectType"]))
	}
	hasGPU := false
	for kind := range strings.SplitSeq(s.Get("GresTypes"), ",") {
		hasGPU = hasGPU || strings.TrimSpace(kind) == "gpu"
	}
	if !hasGPU {
		all = append(all, failed("gpus", "set GresTypes=gpu in slurm.conf", "GresTypes is %s: Slurm does not manage GPUs", s["GresTypes"]))
	}
	if len(all) == 0 {
		all = append(all, passed("gpus", "Slurm gives GPUs one by one (%s)", s["SelectType"]))
	}
	return all
}

// usualDelay is Slurm's default of batch_sched_delay, in seconds.
const usualDelay = 3

// schedulerWaits: sluiced requests a scheduling pass when the begin time of a job that it
// restarts has come, and slurmctld runs one within batch_sched_delay. So the intervals of
// its own passes, sched_interval and bf_interval, do not delay a resize.
func schedulerWaits(s command.Settings, _ patient) []finding {
	delay := usualDelay
	if text, set := s.Scheduling("batch_sched_delay"); set {
		n, err := strconv.Atoi(text)
		if err != nil {
			return []finding{warned("scheduler", "", "SchedulerParameters: batch_sched_delay=%s cannot be read", text)}
		}
		delay = n
	}
	if delay > usualDelay {
		return []finding{warned("scheduler", fmt.Sprintf("remove batch_sched_delay from SchedulerParameters: Slurm's default is %d s", usualDelay),
			"batch_sched_delay is %d s: each resize waits up to this long for a scheduling pass", delay)}
	}
	return []finding{passed("scheduler", "a restart waits at most %d s for a scheduling pass: sluiced requests it", delay)}
}

func schedulerDefers(s command.Settings, _ patient) []finding {
	var all []finding
	for _, word := range []string{"defer", "defer_batch", "max_rpc_cnt"} {
		if value, set := s.Scheduling(word); set && value != "0" {
			all = append(all, warned("scheduler", "expected on a very busy cluster; else remove it from SchedulerParameters",
				"%s is set: a released job is not started at once", word))
		}
	}
	return all
}

// afterTheJob: settings that keep a job completing after it was stopped.
func afterTheJob(s command.Settings, _ patient) []finding {
	var all []finding
	if n, is := s.Number("CompleteWait"); is && n > 0 {
		all = append(all, warned("stop", "set CompleteWait=0 in slurm.conf", "CompleteWait is %d s: nodes of a stopped job wait for it", n))
	}
	if n, is := s.Number("KillWait"); is && n > 30 {
		all = append(all, warned("stop", "set KillWait=30 in slurm.conf", "KillWait is %d s: a program that ignores SIGTERM lengthens each resize by it", n))
	}
	if len(all) == 0 {
		all = append(all, passed("stop", "a stopped job gives its nodes back without delay"))
	}
	return all
}

// scripts that run at each start and end of a job, hence at each resize.
func scripts(s command.Settings, _ patient) []finding {
	var set []string
	for _, name := range []string{"Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld"} {
		if s.Get(name) != "" {
			set = append(set, name)
		}
		for key := range s { // newer releases number them: Prolog[0]
			if strings.HasPrefix(key, name+"[") && s.Get(key) != "" {
				set = append(set, name)
				break
			}
		}
	}
	if len(set) == 0 {
		return []finding{passed("scripts", "no Prolog or Epilog that each resize would run")}
	}
	return []finding{passed("scripts", "%s: each resize runs them; sluice measures what they cost", strings.Join(set, ", "))}
}

func preemption(s command.Settings, _ patient) []finding {
	mode := strings.ToUpper(s.Get("PreemptMode"))
	if mode == "" || mode == "OFF" {
		return []finding{passed("preemption", "off")}
	}
	for word := range strings.SplitSeq(mode, ",") {
		if word == "CANCEL" || word == "REQUEUE" {
			return []finding{warned("preemption", "set PreemptMode=OFF on the partitions of elastic jobs: sluice gives GPUs back by itself",
				"PreemptMode is %s: Slurm may stop an elastic job before it has saved", mode)}
		}
	}
	return []finding{passed("preemption", "PreemptMode is %s", mode)}
}

// jobMemory: the daemon must see how a job ended before Slurm forgets it.
func jobMemory(s command.Settings, p patient) []finding {
	n, is := s.Number("MinJobAge")
	age := time.Duration(n) * time.Second
	if is && n > 0 && age < 2*p.site.Cycle.Period {
		f := warned("memory", "set MinJobAge=300 in slurm.conf, or a shorter [cycle] period",
			"MinJobAge is %d s: Slurm may forget how a job ended before sluiced looks (every %s)", n, terminal.Clock(p.site.Cycle.Period))
		if n < 2 {
			return []finding{f} // no period is as short
		}
		return []finding{mended(f, "cycle", "period", fmt.Sprintf("\"%ds\"", n/2))}
	}
	return nil
}

// patience: a command that sluiced ends before slurmctld gives up may still take effect.
func patience(s command.Settings, p patient) []finding {
	n, is := s.Number("MessageTimeout")
	if !is || time.Duration(n)*time.Second < p.site.Slurm.Timeout || n > 300 { // [slurm] timeout is at most 10 min
		return nil
	}
	f := warned("scheduler", fmt.Sprintf("set [slurm] timeout = \"%ds\" in sluice.toml", 2*n),
		"MessageTimeout is %d s, but sluiced ends Slurm's commands after %s", n, terminal.Clock(p.site.Slurm.Timeout))
	return []finding{mended(f, "slurm", "timeout", fmt.Sprintf("\"%ds\"", 2*n))}
}

func privacy(s command.Settings, p patient) []finding {
	if strings.Contains(strings.ToLower(s.Get("PrivateData")), "jobs") && !p.site.Users.Private && !p.user {
		f := warned("privacy", "set [users] private = true", "PrivateData has jobs, but sluice shows all jobs to all users")
		return []finding{mended(f, "users", "private", "true")}
	}
	return nil
}
