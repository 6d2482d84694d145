package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// A gang of workers, two parameter servers and a data loader on each node starts whole or
// not at all, is resized whole, trains every step once and leaves nothing behind.
func TestGangResized(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2))
	s.gangWithoutAProgram()
	a := &job{s: s, name: "gang", epochs: 16}
	program := s.Path("gang.py")
	text, err := os.ReadFile("testdata/gang.py")
	s.must(err)
	s.must(site.Put(program, text, 0o644))
	task := fmt.Sprintf("/usr/bin/python3 -u %s %s %d %d", program, a.stepsLog(), a.epochs, perEpoch)
	a.id = s.submitGang("gang", task, "--and ps=2 "+task+" --and loader=1/node "+task, fmt.Sprintf("--epochs=%d", a.epochs))
	for _, gpus := range []int{4, 1, 3} {
		s.as("", "sluice", "resize", fmt.Sprint(a.id), "--gpus", fmt.Sprint(gpus))
		a.runsOn(gpus)
		a.trained(gpus)
	}
	if tr := a.completes(); !strings.HasSuffix(fmt.Sprint(tr.Worlds), "4 1 3]") {
		t.Errorf("trained on %v GPUs, want 4, 1 and 3 in the end", tr.Worlds)
	}
	b, _ := os.ReadFile(filepath.Join(s.Home(""), "gang.out"))
	if found := regexp.MustCompile(`trained (\d+) alone (\d+)`).FindSubmatch(b); found == nil || string(found[1]) != string(found[2]) {
		t.Errorf("it computed something else than alone: %s", found)
	}
	a.tasks("loader 0/2, loader 1/2, ps 0/2, ps 1/2, worker 0/4, worker 1/4, worker 2/4, worker 3/4",
		"loader 0/1, ps 0/2, ps 1/2, worker 0/1",
		"loader 0/2, loader 1/2, ps 0/2, ps 1/2, worker 0/3, worker 1/3, worker 2/3")
}

// submitGang submits a job with workers and other tasks.
func (s *scene) submitGang(name, worker, others string, args ...string) int64 {
	s.t.Helper()
	script := filepath.Join(s.Home(""), name+".sh")
	s.write(script, "#!/bin/bash\nsrun \"$SLUICE\" ranks -- "+worker+" "+others+"\n")
	id, err := s.Submit(s.ctx, "", append(args, "--max-gpus=4", "--allow-uneven", "--output="+name+".out", script)...)
	s.must(err)
	return id
}

// gangWithoutAProgram: if one command of a gang does not exist on the nodes, nothing starts.
func (s *scene) gangWithoutAProgram() {
	s.t.Helper()
	started := filepath.Join(s.Home(""), "started")
	j := &job{s: s, name: "lacking"}
	j.id = s.submitGang(j.name, "touch "+started, "--and loader=1/node touch "+started+" --and ps=2 no-such-server", "--min-gpus=4")
	if state := j.ends(); state != "FAILED" {
		s.t.Errorf("ended as %s", state)
	}
	out, _ := os.ReadFile(filepath.Join(s.Home(""), "lacking.out"))
	const want = `cannot start ps: exec: "no-such-server": executable file not found in $PATH; nor can 1 more. Nothing was started on any node`
	if !strings.Contains(string(out), want) {
		s.t.Errorf("says %s", out)
	}
	if _, err := os.Stat(started); err == nil {
		s.t.Error("something was started")
	}
	s.must(site.Until(s.ctx, 20*time.Second, "the reason to be told", func() (bool, error) {
		said, err := s.Run(s.ctx, "", "sluice", "explain", fmt.Sprint(j.id))
		return err == nil && strings.Contains(said, `ps 0 on node gpu1 could not be started: exec: "no-such-server"`), nil
	}))
}

// tasks checks what the gang's tasks recorded: only workers have GPUs and ranks, no task is left, and
// there was a run with each of the numbers of loaders, parameter servers and workers.
func (j *job) tasks(want ...string) {
	j.s.t.Helper()
	b, err := os.ReadFile(j.stepsLog() + ".tasks")
	j.s.must(err)
	runs := map[string][]string{} // the tasks of each
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		pid, run, kind := f[0], f[1], f[2]
		if cmd, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.Contains(string(cmd), "gang.py") {
			j.s.t.Errorf("process %s is left: %s", pid, line)
		}
		if hidden := strings.HasSuffix(line, " gpus [] rank none\n"); hidden != (kind != "worker") {
			j.s.t.Errorf("told %s", line)
		}
		runs[run] = append(runs[run], kind+" "+f[3])
	}
	var were []string
	for _, tasks := range runs {
		slices.Sort(tasks)
		were = append(were, strings.Join(tasks, ", "))
	}
	for _, w := range want {
		if !slices.Contains(were, w) {
			j.s.t.Errorf("no run of %s, but %q", w, were)
		}
	}
}
