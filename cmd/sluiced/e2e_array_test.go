package main_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// At most two of six tasks run at once, through a resize and a kill of sluiced, which restarts
// without its database. Each task has its own output, checkpoints and environment, the same in
// each of its runs, although the job inherits no environment (--export=NONE).
func TestArray(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 4))
	home := s.Home("")
	script := filepath.Join(home, "array.sh")
	s.must(site.Put(script, []byte(fmt.Sprintf(`#!/bin/bash
#SBATCH --array=9
#SBATCH -o array-%%A_%%3a.out
cd %[1]s
env | grep -E '^(SLURM|SLUICE)_ARRAY_' | sort > env.$SLURM_ARRAY_TASK_ID.$SLUICE_RESTARTS
env | grep ^SECRET >> env.$SLURM_ARRAY_TASK_ID.$SLUICE_RESTARTS
echo $SLUICE_CHECKPOINTS >> folders
exec /usr/bin/python3 -u %[2]s --steps-log array$SLURM_ARRAY_TASK_ID.steps --epochs 12 --seconds 0.4
`, home, s.Path("loop.py"))), 0o755))
	args := []string{"SECRET=1", "sluice", "submit", "--array=1-11:2%2", "--parsable", "--export=NONE", "-D", home, "--epochs=12", "--max-gpus=2", script}
	ids := strings.Split(strings.TrimSpace(s.as("", "env", args...)), ":")
	if len(ids) != 6 {
		t.Fatalf("%q", ids)
	}
	var tasks []*job
	for i, id := range ids {
		n, err := strconv.ParseInt(id, 10, 64)
		s.must(err)
		tasks = append(tasks, &job{s: s, id: n, name: fmt.Sprintf("array%d", 1+2*i), epochs: 12})
	}
	most := s.mostAtOnce(ids)

	waits := func(v wire.Job) bool { return strings.Contains(v.Reason, "waits: 2 of its array's tasks run (%2)") }
	tasks[2].until("to wait for the others", waits)
	if out := s.as("", "sluice", "queue", "-h", "-o", "jobid"); !strings.Contains(out, ids[0]+"_[5,7,9,11%2]") {
		t.Errorf("the queue shows %q", out)
	}
	first := tasks[0].until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.Speaks && v.Move == nil })
	s.as("", "sluice", "resize", ids[0], "--gpus", fmt.Sprint(3-first.GPUs))
	tasks[0].runsOn(3 - first.GPUs)
	s.Kill()
	files, err := filepath.Glob(s.State + "/sluice.db*")
	s.must(err)
	for _, name := range files {
		s.must(os.Remove(name))
	}
	s.must(s.Start(s.ctx))
	tasks[5].until("to wait for the others", waits)
	after, err := s.Submit(s.ctx, "", "--gpus=1", "--dependency=afterany:"+ids[0]+"_*", "--wrap", "true")
	s.must(err)
	// A cancelled task is not waited for.
	s.as("", "sluice", "cancel", ids[0]+"_11")

	folders := map[string]int{}
	if d := (&job{s: s, id: after}).field("Dependency"); strings.Count(d, "afterany:") != 6 {
		t.Errorf("it depends on %s", d)
	}
	for i, j := range tasks[:5] {
		j.completes()
		index := 1 + 2*i
		if out, err := os.ReadFile(filepath.Join(home, fmt.Sprintf("array-%s_%03d.out", ids[0], index))); err != nil || !strings.Contains(string(out), "== sluice: segment") {
			t.Errorf("output of task %d: %v\n%s", index, err, out)
		}
		s.arrayEnvironment(ids[0], index)
	}
	raw, err := os.ReadFile(filepath.Join(home, "folders"))
	s.must(err)
	for folder := range strings.FieldsSeq(string(raw)) {
		folders[folder]++
	}
	if len(folders) != 5 || slices.Max(slices.Collect(maps.Values(folders))) < 2 {
		t.Errorf("checkpoint folders and their runs: %v", folders)
	}
	last := &job{s: s, id: after}
	if state := last.ends(); state != "COMPLETED" {
		t.Errorf("the job that depends on the array is %s", state)
	}
	if n := most(); n != 2 {
		t.Errorf("%d tasks ran at once", n)
	}
}

// arrayEnvironment checks what the task's script found in each of its runs.
func (s *scene) arrayEnvironment(array string, index int) {
	s.t.Helper()
	var want []string
	for _, whose := range []string{"SLUICE", "SLURM"} {
		for _, v := range []string{"JOB_ID=" + array, "TASK_COUNT=6", fmt.Sprintf("TASK_ID=%d", index), "TASK_MAX=11", "TASK_MIN=1", "TASK_STEP=2"} {
			want = append(want, whose+"_ARRAY_"+v)
		}
	}
	runs, err := filepath.Glob(filepath.Join(s.Home(""), fmt.Sprintf("env.%d.*", index)))
	s.must(err)
	if len(runs) == 0 || index == 1 && len(runs) < 2 {
		s.t.Errorf("task %d had %d runs", index, len(runs))
	}
	for _, run := range runs {
		got, err := os.ReadFile(run)
		s.must(err)
		if lines := strings.Fields(string(got)); !slices.Equal(lines, want) {
			s.t.Errorf("%s: %q", filepath.Base(run), lines)
		}
	}
}

// mostAtOnce watches Slurm until it is asked how many of the jobs ran at once at most.
func (s *scene) mostAtOnce(ids []string) func() int {
	ctx, stop := context.WithCancel(s.ctx)
	var most atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			out, err := s.Run(ctx, "", "squeue", "-h", "-t", "R,CG,CF", "-o", "%i", "-j", strings.Join(ids, ","))
			if n := int64(len(strings.Fields(out))); err == nil && n > most.Load() {
				most.Store(n)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return func() int {
		stop()
		<-done
		return int(most.Load())
	}
}
