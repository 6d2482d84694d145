package main_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/site"
)

// announced is the one line that slurmctld's requeue writes into a job's output: by the
// daemon of the batch script, which is ended with the allocation.
var announced = regexp.MustCompile(`^slurmstepd(-\w+)?: error: \*\*\* JOB \d+ ON \S+ CANCELLED AT \S+ DUE TO JOB REQUEUE \*\*\*$`)

// killed are the lines that Slurm writes about a step that it kills itself, where it is
// faster than the runner.
var killed = regexp.MustCompile(`^(srun: |slurmstepd(-\w+)?: error: \*\*\* STEP )`)

// own are the lines of the program.
var own = regexp.MustCompile(`^(\[run \d+\] |epoch )`)

// stray returns the lines of a job's output that its program did not print and that are
// no banner, and how many of them Slurm's announcements are.
func stray(output string) (lines []string, requeues int) {
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		_, banner := runner.ParseBanner(line)
		switch {
		case banner || own.MatchString(line):
		case announced.MatchString(line):
			requeues++
		default:
			lines = append(lines, line)
		}
	}
	return lines, requeues
}

// TestResizesInTheLog: a resize leaves the job's own lines in its output, two banners, and
// one line of Slurm's.
func TestResizesInTheLog(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(6, 2), func(c *site.Config) { c.Lab.Root = os.Getenv("SLUICE_E2E_ROOT") })
	ddp := s.Path("python", "examples", "train_ddp.py")
	forms := []struct {
		name    string
		gpus    int
		command string
		program string
	}{
		{"ranks", 4, `srun "$SLUICE" ranks -- /usr/bin/python3 -u`, ddp},
		{"plain", 2, `srun /usr/bin/python3 -u`, s.Path("loop.py")},
		{"torchrun", 4, `srun "$SLUICE" ranks --torchrun -- /usr/bin/python3 -u`, ddp},
		{"alone", 2, `"$SLUICE" ranks -- /usr/bin/python3 -u`, ddp},
	}
	var jobs []*job
	for _, f := range forms {
		j := &job{s: s, name: f.name, epochs: 2000}
		args := fmt.Sprintf("--epochs %d --steps-per-epoch %d --steps-log %s", j.epochs, perEpoch, j.stepsLog())
		if f.program == ddp {
			args += " --emulate-step-seconds 0.4"
		} else {
			args += " --seconds 0.4"
		}
		script := s.Home("") + "/" + f.name + ".sh"
		s.write(script, fmt.Sprintf("#!/bin/bash\n%s %s %s && echo 'the script went on' && touch %s\n", f.command, f.program, args, s.Home("")+"/"+f.name+".wrong"))
		id, err := s.Submit(s.ctx, "", fmt.Sprintf("--epochs=%d", j.epochs), "--min-gpus=1", fmt.Sprintf("--max-gpus=%d", f.gpus), "--output="+f.name+".out", script)
		s.must(err)
		j.id = id
		jobs = append(jobs, j)
	}
	for _, gpus := range [][]int{{4, 2, 4, 2}, {1, 1, 1, 1}, {4, 2, 4, 2}} {
		for i, j := range jobs {
			s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(gpus[i]))
		}
		for i, j := range jobs {
			j.runsOn(gpus[i])
			j.trained(gpus[i])
		}
	}
	for _, j := range jobs {
		out := j.output()
		lines, requeues := stray(out)
		if steps := strings.Count(out, "srun: Job step aborted"); steps == 1 { // once, on a busy machine
			t.Logf("%s: Slurm was faster than the runner in one resize of %d", j.name, requeues)
			lines = slices.DeleteFunc(lines, killed.MatchString)
		}
		if restarts := j.field("Restarts"); len(lines) > 0 || fmt.Sprint(requeues) != restarts || requeues < 2 {
			t.Errorf("%s: %s resizes left %d lines that are not its own, and Slurm's %d:\n%s", j.name, restarts, len(lines), requeues, out)
		}
		if _, err := os.Stat(s.Home("") + "/" + j.name + ".wrong"); err == nil || strings.Contains(out, "the script went on") {
			t.Errorf("%s: its script went on behind an interrupted training", j.name)
		}
		if tr, err := site.ReadTraining(j.stepsLog(), 0, perEpoch); err != nil || tr.Repeated > 0 || tr.Moves < 2 {
			t.Errorf("%s: %+v, %v", j.name, tr, err)
		}
	}
	s.cancel(jobs...)
}
