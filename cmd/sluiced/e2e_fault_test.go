package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Programs that misbehave keep their allocation; no job is stopped without a verified
// checkpoint.
func TestMisbehavingPrograms(t *testing.T) {
	t.Parallel()
	s := play(t, withConfig(strings.Replace(quick, `"20s"`, `"4s"`, 1)))
	t.Run("ignores the request", func(t *testing.T) {
		j := s.submit("ignores", "", 25, []string{"--max-gpus=2"}, "--ignore")
		s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "1")
		j.until("to be given up on", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && (v.Deaf > 0 || v.GPUs == 1) })
		if tr := j.completes(); tr.Moves != 0 {
			t.Errorf("a job that never saved was moved: runs on %v GPUs", tr.Worlds)
		}
	})
	t.Run("exits 0 during the request", func(t *testing.T) {
		j := s.submit("exits", "", 500, []string{"--max-gpus=2"}, "--exit-on-request", "0")
		// Its first growth is the request.
		if state := j.ends(); state != "COMPLETED" {
			t.Errorf("ended as %s", state)
		}
	})
	t.Run("exits 7 during the request", func(t *testing.T) {
		j := s.submit("exits7", "", 500, []string{"--max-gpus=2", "--retries=0"}, "--exit-on-request", "7")
		// Its first growth is the request.
		if state, code := j.ends(), j.field("ExitCode"); state != "FAILED" || code != "7:0" {
			t.Errorf("ended as %s with %s, want FAILED with 7:0", state, code)
		}
	})
	t.Run("fails", func(t *testing.T) {
		j := s.submit("fails", "", 500, []string{"--max-gpus=2"}, "--fail-at", "6")
		if state, code := j.ends(), j.field("ExitCode"); state != "FAILED" || code != "3:0" {
			t.Errorf("ended as %s with %s, want FAILED with 3:0", state, code)
		}
	})
	t.Run("never heard of sluice", func(t *testing.T) {
		script := filepath.Join(s.Home(""), "plain.sh")
		s.write(script, "#!/bin/bash\nsleep 8\n")
		id, err := s.Submit(s.ctx, "", "--max-gpus=4", script)
		s.must(err)
		j := &job{s: s, id: id}
		j.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
		if out := s.as("", "sluice", "explain", fmt.Sprint(id)); !strings.Contains(out, "fixed") && !strings.Contains(out, "until then its size does not change") {
			t.Errorf("explain does not say that its size is fixed:\n%s", out)
		}
		if state := j.ends(); state != "COMPLETED" || j.field("Restarts") != "0" {
			t.Errorf("ended as %s, restarts %s", state, j.field("Restarts"))
		}
	})
}

// A node is drained, a slurmd dies, and slurmctld goes down during a resize: the job resumes and
// trains every step.
func TestNodeDrainedDuringResize(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 4))
	j := s.submit("drained", "", 60, []string{"--max-gpus=8"}, "--seconds", "1.5", "--save-seconds", "2")
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	at := j.runsOn(2).Place[0].Node
	other := "gpu1"
	if at == other {
		other = "gpu2"
	}
	j.pin(8, 2)
	s.must(s.Lab.Drain(s.ctx, other, "test"))
	j.until("to give the move up, or to be placed elsewhere", func(v wire.Job) bool {
		return v.Move == nil && v.State == "RUNNING" && v.GPUs <= 4
	})
	s.must(s.Lab.Resume(s.ctx, other))
	j.runsOn(8)
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
}

func TestSlurmdKilledDuringResize(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 4))
	j := s.submit("lost", "", 60, []string{"--max-gpus=4"}, "--save-seconds", "3")
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	at := j.runsOn(2).Place[0].Node
	j.pin(4, 2)
	s.must(s.Lab.CrashNode(s.ctx, at))
	time.Sleep(time.Second) // the crash is meant to fall into the save
	s.must(s.Lab.StartSlurmd(s.ctx, at))
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	s.must(err)
	if tr.Missing > 0 {
		t.Errorf("%d steps were never trained", tr.Missing)
	}
}

// A node is lost while a job on it is completing. Slurm 20.11 and 22.05 then continue to count the job
// there: if it were started like that, it would get no GPUs, and Slurm would count its GPUs as used
// until slurmctld restarts.
func TestNodeLostWhileCleanedAway(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 4))
	j := s.submit("lingers", "", 25, []string{"--max-gpus=4"}, "--save-seconds", "1")
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	at := j.runsOn(2).Place[0].Node
	s.must(s.Lab.KillSlurmd(s.ctx, at)) // so that Slurm waits for the node
	stops := func() int { return strings.Count(s.logFrom(0), "stopped for its move") }
	before := stops() // 1 if its first size was not the present one
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "4")
	j.until("to be stopped", func(wire.Job) bool { return stops() == before+1 })
	s.must(s.Lab.CrashNode(s.ctx, at))
	s.must(s.Lab.SetDown(s.ctx, at, "crashed"))
	s.must(s.Lab.StartSlurmd(s.ctx, at))
	j.runsOn(4)
	j.completes()
	for _, n := range strings.Fields(s.as("", "sinfo", "-h", "-N", "-O", "GresUsed")) {
		if n != "gpu:0" {
			t.Errorf("of an idle node %s are counted as used", n)
		}
	}
	if !strings.HasPrefix(s.Lab.Release(), "22.05") {
		return
	}
	if log, err := os.ReadFile(s.Log); err != nil || strings.Count(string(log), fmt.Sprintf("clear job %d of its last run", j.id)) != 1 {
		t.Errorf("the job was not cleared of its last run, or more than once (%v)", err)
	}
}

func TestControllerRestartedDuringResize(t *testing.T) {
	t.Parallel()
	j := restarted(t, (*lab.Lab).StopController)
	j.completes()
}

// A killed slurmctld loses unsaved state, and may itself run the job again from an older state. Then
// steps after the last commit are trained twice, but none is missing, and no two runs overlap.
func TestControllerKilledDuringResize(t *testing.T) {
	t.Parallel()
	j := restarted(t, (*lab.Lab).KillController)
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	j.s.must(err)
	if tr.Missing > 0 {
		t.Errorf("%d steps were never trained", tr.Missing)
	}
}

// restarted stops slurmctld during a resize and starts it again.
func restarted(t *testing.T, away func(*lab.Lab, context.Context) error) *job {
	s := play(t)
	j := s.submit("ctld", "", 40, []string{"--max-gpus=4"}, "--save-seconds", "1")
	j.firstSize(1)
	j.pin(4, 2)
	s.must(away(s.Lab, s.ctx))
	time.Sleep(3 * time.Second) // so that sluiced finds slurmctld down
	s.must(s.Lab.StartController(s.ctx))
	j.runsOn(4)
	return j
}

// sluiced is killed right before and right after every step is recorded, and restarted: the move is
// completed or abandoned, and nothing is lost.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	s := play(t)
	crash := filepath.Join(s.State, "crash")
	j := s.submit("phoenix", "", 160, []string{"--max-gpus=4"}, "--seconds", "0.5")
	j.firstSize(1)
	size := 1
	for step := 1; step <= 7; step++ {
		for _, order := range []int{-step, step} {
			size = 3 - size
			s.write(crash, fmt.Sprint(order))
			s.must(os.Chmod(crash, 0o666))
			s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(size))
			s.must(site.Until(s.ctx, time.Minute, fmt.Sprintf("sluiced to die at R%d (%d)", step, order), func() (bool, error) { return !s.Alive(), nil }))
			s.must(s.Start(s.ctx))
			j.runsOn(size)
		}
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
}

// A second daemon on the same store fails with the pid of the first one.
func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 1))
	cmd, err := s.Command(s.ctx, "", "sluiced", "--lab", "--config", s.Conf)
	s.must(err)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sluiced: error:") {
		t.Errorf("a second sluiced on the same store: %v\n%s", err, out)
	}
	if !s.Alive() {
		t.Error("the first one died of it")
	}
}

// sluiced's store is deleted while it is stopped: it finds its jobs in Slurm and continues with them.
func TestDatabaseDeleted(t *testing.T) {
	t.Parallel()
	s := play(t)
	j := s.submit("orphan", "", 60, []string{"--max-gpus=4"})
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	j.runsOn(2)
	s.must(s.Stop())
	files, err := filepath.Glob(s.State + "/sluice.db*")
	s.must(err)
	if len(files) == 0 {
		t.Fatal("no database to delete")
	}
	for _, f := range files {
		s.must(os.Remove(f))
	}
	s.must(s.Start(s.ctx))
	v := j.runsOn(2)
	if v.Pinned != 2 {
		t.Errorf("the user's pin is lost: %+v", v)
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.runsOn(4)
	j.completes()
}

// The file system of the jobs' folders is full: there is no checkpoint and so no move. The job
// continues, and moves once there is space again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root to mount a small file system")
	}
	s := play(t, withConfig(strings.Replace(quick, `"20s"`, `"5s"`, 1)))
	j := s.submit("full", "", 60, []string{"--max-gpus=4"})
	v := j.firstSize(1)
	// The mount hides the checkpoint from which the job resumed: it must have read it.
	j.until("to train again", func(now wire.Job) bool { return now.Done > v.Done })
	dir := filepath.Join(s.Jobs, v.Token, "checkpoints")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skipf("SKIPPED: cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s.write(filepath.Join(dir, "ballast"), strings.Repeat("x", 60<<10))
	fill(dir)
	j.pin(2, 2)
	j.until("to keep its size", func(v wire.Job) bool { return v.Move == nil && v.State == "RUNNING" && v.GPUs == 1 })
	s.must(os.Remove(filepath.Join(dir, "ballast")))
	s.must(os.Remove(filepath.Join(dir, "rest")))
	j.runsOn(2)
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
}

// fill writes until nothing more fits.
func fill(dir string) {
	f, err := os.Create(filepath.Join(dir, "rest"))
	if err != nil {
		return
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 1024)); err != nil {
			return
		}
	}
}

// Invalid contents of the job's own files are reported and skipped: invalid lines in a progress file,
// and a newer checkpoint with a false manifest.
func TestGarbageInTheJobDirectory(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	j := s.submit("garbage", "", 30, []string{"--max-gpus=4"})
	v := j.firstSize(1)
	dir := filepath.Join(s.Jobs, v.Token)
	f, err := os.OpenFile(filepath.Join(dir, "progress.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	s.must(err)
	_, err = f.WriteString("this is no JSON\n{\"time\": 1, \"event\": \"progress\", \"done\": -5}\n")
	s.must(err)
	s.must(f.Close())
	s.must(os.Mkdir(filepath.Join(dir, "checkpoints", "00000099"), 0o700))
	s.write(filepath.Join(dir, "checkpoints", "00000099", "manifest.json"), `{"version":1,"sequence":99,"files":[{"path":"../../etc/passwd"}]}`)
	j.until("to report the garbage", func(v wire.Job) bool { return strings.Contains(strings.Join(v.Problems, " "), "line") })
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
}

// TestEndings: sluice queue, explain and history say how a job ended, also for a script that fails at
// once and for one that Slurm cannot start because of its output file.
func TestEndings(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	for name, c := range map[string]struct{ script, how, reason string }{
		"fails": {"#SBATCH -o fails.out\necho 'ValueError: boom'\nexit 3\n", "failed", "failed: exit code 3; last line: ValueError: boom"},
		"x":     {"#SBATCH -o /nonexistent/x\nexit 3\n", "no_output", "failed: Slurm could not open its output file /nonexistent/x"},
	} {
		script := filepath.Join(s.Home(""), name+".sh")
		s.write(script, "#!/bin/bash\n"+c.script)
		id, err := s.Submit(s.ctx, "", "--min-gpus=1", "--max-gpus=1", script)
		s.must(err)
		j := &job{s: s, id: id}
		v := j.until("to be over", func(v wire.Job) bool { return v.Ended })
		if v.Ending == nil || v.Ending.How != c.how || !strings.HasPrefix(v.Reason, c.reason) {
			t.Errorf("%s: ending %+v, reason %q", name, v.Ending, v.Reason)
		}
		for _, verb := range [][]string{{"queue", "-a"}, {"explain", fmt.Sprint(id)}, {"history", fmt.Sprint(id)}} {
			out := s.as("", "sluice", verb...)
			if !strings.Contains(out, c.reason) || verb[0] == "history" && !strings.Contains(out, "gpu1:1") {
				t.Errorf("%s: sluice %s:\n%s", name, verb[0], out)
			}
		}
	}
}
